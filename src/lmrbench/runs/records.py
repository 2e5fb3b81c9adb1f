"""The records of a run folder, except grades: facts, usage, snapshots, judgements and labels.

`Category` is the scale of judgements and labels, `ErrorClass` the kinds of error (LMR-BENCH, sections 4.2 and 5.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

from pydantic import Field, JsonValue, model_validator

from lmrbench.records import StoredRecord
from lmrbench.tasks.submission import Answer, SampleNumber, Text

# How an answer ended. The last three are the machinery's: such a sample has no grade, and is asked again.
AnswerStatus = Literal[
    "answered",
    "truncated",
    "refused",
    "filtered",
    "empty",
    "unusable",
    "limit",
    "provider_error",
    "agent_crash",
    "machine_error",
]
UNANSWERED: tuple[AnswerStatus, ...] = ("provider_error", "agent_crash", "machine_error")


# How a vote ended. The last one is the machinery's: such a vote is asked again.
VoteStatus = Literal["judged", "refused", "unparsable", "provider_error"]
# Which of the two a judge reads first.
Order = Literal["reference first", "candidate first"]

# Completely correct; the logic is correct, the implementation is not; the logic is incorrect.
Category = Literal["CC", "LC", "LI"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
# The two ends of the scale.
OPPOSITES = frozenset({"CC", "LI"})

# What went wrong in an answer that is not completely correct.
ErrorClass = Literal["paper parsing", "problem context", "code robustness", "cross-file retrieval", "policy"]
# What each kind of error means, in our words.
ERROR_CLASSES: Mapping[ErrorClass, str] = {
    "paper parsing": "a formula, symbol or detail of the paper was misread or left out",
    "problem context": "what the task asks of this function, or what surrounds it, was misunderstood",
    "code robustness": "the code fails on inputs that it must handle: types, shapes, edge cases, numerical range",
    "cross-file retrieval": "something defined elsewhere in the repository was not found, or was used wrongly",
    "policy": "nothing was implemented, or not what was asked: a refusal, a stub, an answer to another question",
}


class Usage(StoredRecord):
    """How one answer ended, and what it cost: calls of the model, tokens, dollars where prices are known, seconds.

    detail: why, where the status alone does not say it. seconds: working time of model and tools, without waiting for
    the provider and without grading. limit: the limit that ended it, if one did. cut: the parts of the prompt that
    were cut.
    """

    system: str
    task: str
    sample: int
    status: AnswerStatus
    detail: str
    calls: int
    input_tokens: int
    output_tokens: int
    dollars: float | None
    seconds: float
    limit: str
    cut: tuple[str, ...]

    @property
    def answer(self) -> Answer:
        """Which answer it is of."""
        return Answer(self.system, self.task, self.sample)


class Snapshot(StoredRecord):
    """What an agent's workspace held after a turn: how many cases match, and what was spent until then.

    There is one for each turn after which the goal files had changed, and one for the end. turn: how many calls of the
    model had succeeded. tool_calls: how many the model had asked for. seconds, dollars: as those of `Usage`. passed:
    under the seeds of the answer's own grade.
    """

    system: str
    task: str
    sample: int
    turn: int
    input_tokens: int
    output_tokens: int
    tool_calls: int
    seconds: float
    dollars: float | None
    matched: int
    cases: int
    passed: bool

    @property
    def answer(self) -> Answer:
        """The answer that the agent was working on."""
        return Answer(self.system, self.task, self.sample)


class RunFacts(StoredRecord):
    """`run.json`: under what conditions the submissions and the last grades beside it were made.

    suite: its name and version; "" for one that has none. solving: the settings that a model was asked under
    (`lmrbench.models.settings`); None for submissions that came from elsewhere. fresh_seeds: the seeds were drawn for
    this run alone. blind: the grades hold no reasons. fail_fast: they end at the first case that fails. source: the
    file that the submissions were read from, relative to the folder; "" for those of models and built-in systems.
    """

    lmrbench: str
    suite_digest: str
    tasks: tuple[str, ...]
    seeds: tuple[int, ...]
    sandbox: str
    environment: dict[str, str]
    suite: str = ""
    solving: dict[str, JsonValue] | None = None
    fresh_seeds: bool = False
    blind: bool = False
    fail_fast: bool = False
    source: str = ""


class VoteKey(NamedTuple):
    """Which vote on which text: two votes with the same key are one vote, whichever submission they stand for."""

    judge: str
    vote: int
    digest: str


class Judgement(StoredRecord):
    """One vote of one judge on one submission.

    vote: its number among the repeated votes of the judge, from 0. digest: of the text that was judged, with the
    version of the prompt. category, error_class, logic, implementation: None and empty unless the status is `judged`.
    detail: why there is no category. attempts: how often the judge was asked, 0 where the vote on the same text of
    another submission was taken over. dollars: None where no prices are known.
    """

    system: Text
    task: Text
    sample: int
    judge: str
    vote: int = Field(ge=0)
    order: Order
    prompt_version: int
    evidence: bool
    comments_stripped: bool
    digest: str
    status: VoteStatus
    category: Category | None
    error_class: ErrorClass | None
    logic: tuple[Text, ...]
    implementation: tuple[Text, ...]
    detail: Text
    attempts: int
    input_tokens: int
    output_tokens: int
    dollars: float | None

    @model_validator(mode="after")
    def _category_of_a_judgement(self) -> Judgement:
        if (self.status == "judged") != (self.category is not None):
            raise ValueError("category: a vote has one if it was judged, and no other has")
        return self

    @property
    def key(self) -> VoteKey:
        """Which vote this is."""
        return VoteKey(self.judge, self.vote, self.digest)

    @property
    def answer(self) -> Answer:
        """The answer that was judged."""
        return Answer(self.system, self.task, self.sample)


class Label(StoredRecord):
    """What one person says of one answer. seconds: how long that took, where it was noted."""

    system: str = Field(min_length=1)
    task: str = Field(min_length=1)
    sample: SampleNumber
    annotator: str = Field(min_length=1)
    category: Category
    error_class: ErrorClass | None = None
    reason: str = ""
    seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)

    @property
    def answer(self) -> Answer:
        """Which answer it is of."""
        return Answer(self.system, self.task, self.sample)
