"""The options of `lmrbench judge` that determine the number of votes and the prompts.

These options are generated from the fields of `JudgingPlan`. This module does not import Inspect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lmrbench.errors import UsageError
from lmrbench.models.settings import Protocol, option
from lmrbench.records import Record
from lmrbench.runs.records import Order

if TYPE_CHECKING:
    from inspect_ai.model import Model


class JudgingPlan(Record):
    """The number of votes, and the options that determine the prompts.

    With the protocol of the LMR-BENCH paper, a prompt shows whole files and asks for a numbered class.
    """

    votes: int = option(1, "Number of votes of each judge on each answer.", 1)
    swap: bool = option(
        False,
        "Ask for each vote twice, once with the reference first and once with the candidate first.",
        flags="--swap",
    )
    evidence: bool = option(False, "Tell the judge which cases failed, and why; needs grades.", flags="--evidence")
    strip_comments: bool = option(False, "Show the code without comments and docstrings.", flags="--strip-comments")
    protocol: Protocol = option(
        "lmrbench",
        "Protocol: lmrbench, or paper for that of the LMR-BENCH paper (whole files, its prompt, temperature 0).",
    )
    temperature: float | None = option(None, "Sampling temperature [default: the provider's].", 0)

    def name_of(self, judge: Model) -> str:
        """Return the name of a judge in records, with a suffix if the paper's protocol is used."""
        return str(judge) if self.protocol == "lmrbench" else f"{judge}, paper's protocol"

    @property
    def orders(self) -> tuple[Order, ...]:
        """The orders in which reference and candidate are shown."""
        return ("reference first", "candidate first") if self.swap else ("reference first",)


def judging_plan(**options: Any) -> JudgingPlan:
    """Return the plan for options of `lmrbench judge`. The paper's protocol sets the temperature to 0.

    Args:
        options: Fields of `JudgingPlan`.

    Raises:
        UsageError: An option contradicts the paper's protocol.
        ValidationError: An option has an invalid value.
    """
    plan = JudgingPlan(**options)
    if plan.protocol == "lmrbench":
        return plan
    for name in ("swap", "evidence", "strip_comments"):
        if getattr(plan, name):
            shown = name.replace("_", "-")
            raise UsageError(f"{shown} can't be used with the paper's protocol, which shows whole files once")
    if plan.temperature:
        raise UsageError(f"temperature {plan.temperature:g}: the paper's protocol requires 0")
    return plan.model_copy(update={"temperature": 0.0})
