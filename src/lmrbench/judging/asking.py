"""What a judge reads of one submission, how it is asked, and what is kept of its vote.

`runs` asks about the submissions of a run folder, `scoring` about the samples of a log of Inspect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from inspect_ai.model import GenerateConfig, Model, ModelUsage
from pydantic import Field

from lmrbench.grading.records import CaseVerdict
from lmrbench.judging.prompts import PROMPT_VERSION, digest_of, judge_message
from lmrbench.judging.votes import Vote, cast
from lmrbench.models.endings import ProviderError
from lmrbench.models.opening import input_tokens
from lmrbench.models.reachability import Reachability
from lmrbench.records import Record
from lmrbench.runs.records import Judgement, Order, VoteKey
from lmrbench.tasks.collect import excerpts
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Answer, Submission
from lmrbench.tasks.workspace import repository_files, unsolved_files


class Terms(Record):
    """How judges are asked.

    votes: of each judge, on each submission and in each order. swap: ask in both orders. evidence: tell the failed
    cases. strip_comments: show both sides without comments and docstrings.
    """

    votes: int = Field(default=1, ge=1)
    swap: bool = False
    evidence: bool = False
    strip_comments: bool = False

    @property
    def orders(self) -> tuple[Order, ...]:
        """In which orders each vote is asked."""
        return ("reference first", "candidate first") if self.swap else ("reference first",)


class Text(NamedTuple):
    """What a judge reads of one submission, in one order."""

    of: Answer
    order: Order
    message: str
    digest: str


def texts(
    task: Task,
    submission: Submission,
    candidate: Mapping[str, str],
    terms: Terms,
    evidence: Sequence[CaseVerdict] | None = None,
) -> list[Text]:
    """What judges read of a submission, in each order.

    candidate: what `read_excerpts` gives of the submission. evidence: the verdicts on all of its cases.
    """
    goals = {name: unsolved_files(task)[name] for name in task.goal_files}
    reference = excerpts(goals, repository_files(task), task.targets, terms.strip_comments)
    of = submission.answer
    messages = {order: judge_message(task, reference, candidate, order, evidence) for order in terms.orders}
    return [Text(of, order, message, digest_of(message)) for order, message in messages.items()]


async def ask(model: Model, message: str, config: GenerateConfig, reachability: Reachability) -> Vote:
    """The vote of a judge. One whose provider does not answer at all is not asked in vain again and again."""
    try:
        await reachability.prove(model)
    except ProviderError as error:
        return Vote("provider_error", None, str(error), 0, ModelUsage())
    vote = await cast(model, message, config)
    if vote.status == "provider_error":
        reachability.doubt(model)
    return vote


def judgement(text: Text, key: VoteKey, terms: Terms, vote: Vote) -> Judgement:
    """The record of a vote on a text."""
    opinion = vote.opinion
    system, task, sample = text.of
    return Judgement(
        system=system,
        task=task,
        sample=sample,
        judge=key.judge,
        vote=key.vote,
        order=text.order,
        prompt_version=PROMPT_VERSION,
        evidence=terms.evidence,
        comments_stripped=terms.strip_comments,
        digest=key.digest,
        status=vote.status,
        category=opinion.category if opinion else None,
        error_class=opinion.error_class if opinion else None,
        logic=opinion.logic if opinion else (),
        implementation=opinion.implementation if opinion else (),
        detail=vote.detail,
        attempts=vote.attempts,
        input_tokens=input_tokens(vote.usage),
        output_tokens=vote.usage.output_tokens,
        dollars=vote.usage.total_cost,
    )
