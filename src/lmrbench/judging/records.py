"""What a judge answers, and what of it is kept in a run folder."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from pydantic import Field, StringConstraints, field_validator, model_validator

from lmrbench.judging.scale import Category, ErrorClass
from lmrbench.records import Record, StoredRecord
from lmrbench.tasks.submission import Text

JUDGEMENTS = "judgements.jsonl"
# How a vote ended. The last one is the machinery's: such a vote is asked again.
Status = Literal["judged", "refused", "unparsable", "provider_error"]
# Which of the two a judge reads first.
Order = Literal["reference first", "candidate first"]

Point = Annotated[Text, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]
Points = Annotated[tuple[Point, ...], Field(min_length=2, max_length=4)]


class Opinion(Record):
    """The form that a judge must answer in: points on logic and implementation, then the category that follows.

    error_class: what went wrong, for every category but CC.
    """

    logic: Points
    implementation: Points
    category: Category
    error_class: ErrorClass | None = None

    @field_validator("error_class", mode="before")
    @classmethod
    def _none_in_other_words(cls, value: object) -> object:
        # Some providers make models fill in every key.
        return None if value in ("", "none", "None") else value

    @model_validator(mode="after")
    def _class_of_an_error(self) -> Opinion:
        if (self.category == "CC") != (self.error_class is None):
            raise ValueError("error_class: is for LC and LI, which need one, and not for CC")
        return self


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
    status: Status
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
    def submission(self) -> tuple[str, str, int]:
        """System, task and sample of the submission that it stands for."""
        return self.system, self.task, self.sample
