"""Request a vote from a judge and parse the answer, which must have a fixed form.

Text in any other form is never searched for a category.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any

from inspect_ai.model import GenerateConfig, Model, ModelOutput, ModelUsage
from inspect_ai.tool import ToolFunction, ToolInfo, ToolParams
from inspect_ai.util import JSONSchema
from pydantic import Field, StringConstraints, ValidationError, field_validator, model_validator

from lmrbench.judging.paper_prompt import CLASSES
from lmrbench.judging.prompts import TOOL
from lmrbench.models.endings import one_line, output_ending, too_long
from lmrbench.models.settings import Protocol
from lmrbench.records import Record
from lmrbench.runs.records import CATEGORIES, ERROR_CLASSES, Category, ErrorClass, VoteStatus
from lmrbench.tasks.submission import Text

# Maximum number of requests for a vote. A request is repeated if the answer does not have the required form.
ATTEMPTS = 3
_POINTS = JSONSchema(type="array", items=JSONSchema(type="string"))
_FORM = ToolInfo(
    name=TOOL,
    description="Hand in the judgement of the candidate.",
    parameters=ToolParams(
        properties={
            "logic": _POINTS.model_copy(update={"description": "Two to four points on the logic."}),
            "implementation": _POINTS.model_copy(update={"description": "Two to four points on the implementation."}),
            "category": JSONSchema(type="string", enum=list(CATEGORIES), description="The category that follows."),
            "error_class": JSONSchema(
                type="string", enum=list(ERROR_CLASSES), description="What went wrong; left out for CC."
            ),
        },
        required=["logic", "implementation", "category"],
    ),
)


Point = Annotated[Text, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]
Points = Annotated[tuple[Point, ...], Field(min_length=2, max_length=4)]


class Opinion(Record):
    """A judge's answer in the form of lmrbench.

    Attributes:
        logic: Points on the logic.
        implementation: Points on the implementation.
        category: The category that follows from the points.
        error_class: The class of the main error; None if and only if the category is CC.
    """

    logic: Points
    implementation: Points
    category: Category
    error_class: ErrorClass | None = None

    @property
    def rationale(self) -> tuple[Point, ...]:
        """Always empty: this form separates the points on the logic from those on the implementation."""
        return ()

    @field_validator("error_class", mode="before")
    @classmethod
    def _none_in_other_words(cls, value: object) -> object:
        # Some providers require models to fill in every key, so a model may write "none" instead of omitting the key.
        return None if value in ("", "none", "None") else value

    @model_validator(mode="after")
    def _class_of_an_error(self) -> Opinion:
        if (self.category == "CC") != (self.error_class is None):
            raise ValueError("error_class: required for LC and LI, not allowed for CC")
        return self


class PaperOpinion(Record):
    """A judge's answer in the form of the LMR-BENCH paper.

    Attributes:
        category: The category. The judge writes the paper's number for it.
        rationale: Points on logic and implementation.
    """

    category: Category
    rationale: Points

    @property
    def logic(self) -> tuple[Point, ...]:
        """Always empty: this form has no points on the logic alone."""
        return ()

    @property
    def implementation(self) -> tuple[Point, ...]:
        """Always empty: this form has no points on the implementation alone."""
        return ()

    @property
    def error_class(self) -> None:
        """Always None: this form does not ask for an error class."""

    @field_validator("category", mode="before")
    @classmethod
    def _by_number(cls, value: object) -> object:
        return CLASSES.get(str(value).strip(), value)


@dataclass(frozen=True)
class Vote:
    """The result of one vote of a judge.

    Attributes:
        status: Whether the judge gave an opinion, or why it did not.
        opinion: The parsed answer of the judge; None unless the status is `judged`.
        detail: The reason why there is no opinion, or "".
        attempts: Number of requests that were sent.
        usage: Tokens of all these requests together.
    """

    status: VoteStatus
    opinion: Opinion | PaperOpinion | None
    detail: str
    attempts: int
    usage: ModelUsage


async def cast(model: Model, message: str, config: GenerateConfig, protocol: Protocol = "lmrbench") -> Vote:
    """Ask a judge until it answers in the required form, at most `ATTEMPTS` times with the same message.

    Args:
        model: The judge.
        message: The prompt.
        config: Settings of the requests.
        protocol: The protocol, which determines the form of the answer.

    Returns:
        The vote. If it has no opinion, `status` and `detail` give the reason.
    """
    tools, choice = ([_FORM], ToolFunction(TOOL)) if protocol == "lmrbench" else ([], None)
    usage = ModelUsage()
    status: VoteStatus = "unparsable"
    detail, attempt = "", 0
    opinion: Opinion | PaperOpinion | None = None
    while opinion is None and attempt < ATTEMPTS:
        attempt += 1
        try:
            output = await model.generate(message, tools=tools, tool_choice=choice, config=config)
        except Exception as error:
            # Inspect's error message quotes the whole request; the provider's message does not.
            reason = one_line(getattr(error, "provider_message", None) or str(error) or repr(error))
            return Vote("unparsable" if too_long(reason) else "provider_error", None, reason, attempt, usage)
        usage += output.usage or ModelUsage()
        status, opinion, detail = read_opinion(output, Opinion if protocol == "lmrbench" else PaperOpinion)
    return Vote(status, opinion, detail, attempt, usage)


def read_opinion(
    output: ModelOutput, form: type[Opinion] | type[PaperOpinion] = Opinion
) -> tuple[VoteStatus, Opinion | PaperOpinion | None, str]:
    """Parse a judge's answer.

    Args:
        output: The answer.
        form: The form that the answer must have.

    Returns:
        The status; the opinion, or None if there is none; and the reason why there is none, or "".
    """
    ending = output_ending(output)
    if ending.status == "refused" or not output.choices:
        return ("refused" if output.choices else "unparsable"), None, ending.detail or "the answer is empty"
    try:
        return "judged", form.model_validate(_arguments(output)), ""
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        reason = f"{place + ': ' if place else ''}{first['msg'].removeprefix('Value error, ')}"
    except ValueError as error:
        reason = str(error)
    if ending.status == "filtered":
        return "refused", None, ending.detail or "a content filter stopped the answer"
    return "unparsable", None, one_line(reason if ending.status == "answered" else f"{ending.status}: {reason}")


def _arguments(output: ModelOutput) -> Any:
    """Return the values of the judge's tool call or JSON object; raise ValueError if there are none."""
    calls = [call for call in output.message.tool_calls or [] if call.function == TOOL]
    if calls:
        if calls[0].parse_error:
            raise ValueError(calls[0].parse_error)
        return calls[0].arguments
    text = output.completion
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise ValueError("the answer contains neither a call of the tool nor a JSON object")
    return json.loads(text[start : end + 1])
