"""Ask judges (language models) about a submission: create the prompts, request votes, and turn votes into records.

This module is used by `runs` for the submissions of a run folder, and by `scoring` for the samples of an Inspect log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from inspect_ai.model import GenerateConfig, Model, ModelUsage

from lmrbench.grading.reading import read_excerpts, read_submission
from lmrbench.grading.records import CaseVerdict
from lmrbench.judging.paper_prompt import paper_message
from lmrbench.judging.plan import JudgingPlan
from lmrbench.judging.prompts import PROMPT_VERSION, digest_of, judge_message
from lmrbench.judging.votes import Vote, cast
from lmrbench.models.endings import ProviderError
from lmrbench.models.opening import input_tokens
from lmrbench.models.reachability import Reachability
from lmrbench.runs.records import Judgement, Order, VoteKey
from lmrbench.source.syntax import decode
from lmrbench.tasks.collect import excerpts
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Answer, Submission
from lmrbench.tasks.workspace import repository_files, unsolved_files


class JudgePrompt(NamedTuple):
    """A prompt about one answer: its order of reference and candidate, its text, and its digest (see `digest_of`)."""

    answer: Answer
    order: Order
    message: str
    digest: str


def judge_prompts(
    task: Task,
    submission: Submission,
    candidate: Mapping[str, str],
    plan: JudgingPlan,
    evidence: Sequence[CaseVerdict] | None = None,
) -> list[JudgePrompt]:
    """Return the prompts about a submission, one for each order of reference and candidate.

    Args:
        task: The task that was solved.
        submission: The submission to judge.
        candidate: The submission's code, as `code_to_judge` returns it.
        plan: The options that determine the prompts.
        evidence: The verdicts on all cases; the prompts show the failed ones. None for prompts without verdicts.
    """
    whole = repository_files(task)
    if plan.protocol == "paper":
        goals = {name: decode(whole[name])[0] for name in task.goal_files}
        messages = {order: paper_message(task, goals, candidate) for order in plan.orders}
    else:
        masked = {name: unsolved_files(task)[name] for name in task.goal_files}
        reference = excerpts(masked, whole, task.targets, plan.strip_comments)
        messages = {order: judge_message(task, reference, candidate, order, evidence) for order in plan.orders}
    return [
        JudgePrompt(submission.answer, order, text, digest_of(text, plan.temperature))
        for order, text in messages.items()
    ]


def code_to_judge(task: Task, submission: Submission, plan: JudgingPlan) -> dict[str, str]:
    """Return the code of a submission to judge, by goal file.

    The paper's protocol shows the whole files, and the protocol of lmrbench only the code transplanted into them.

    Raises:
        SubmissionError: No code can be extracted.
    """
    if plan.protocol == "lmrbench":
        return read_excerpts(task, submission, plan.strip_comments)
    files, _ = read_submission(task, submission)
    return {name: decode(files[name])[0] for name in task.goal_files}


async def ask(
    model: Model, message: str, config: GenerateConfig, reachability: Reachability, plan: JudgingPlan
) -> Vote:
    """Ask a judge for a vote, unless its provider is known to be unreachable.

    Args:
        model: The judge.
        message: The prompt.
        config: Settings of the request.
        reachability: The record of which providers respond, shared by all requests of a run.
        plan: The protocol and the temperature of the vote.

    Returns:
        The vote; its status is `provider_error` if the provider failed or is unreachable.
    """
    try:
        await reachability.prove(model)
    except ProviderError as error:
        return Vote("provider_error", None, str(error), 0, ModelUsage())
    if plan.temperature is not None:
        config = config.model_copy(update={"temperature": plan.temperature})
    vote = await cast(model, message, config, plan.protocol)
    if vote.status == "provider_error":
        reachability.doubt(model)
    return vote


def judgement(prompt: JudgePrompt, key: VoteKey, plan: JudgingPlan, vote: Vote) -> Judgement:
    """Return the record of a vote.

    Args:
        prompt: The prompt that the judge answered.
        key: The key of the vote: judge, number and digest.
        plan: The options that determined the prompt.
        vote: The judge's vote.
    """
    opinion = vote.opinion
    system, task, sample = prompt.answer
    return Judgement(
        system=system,
        task=task,
        sample=sample,
        judge=key.judge,
        vote=key.vote,
        order=prompt.order,
        prompt_version=PROMPT_VERSION,
        evidence=plan.evidence,
        comments_stripped=plan.strip_comments,
        digest=key.digest,
        status=vote.status,
        category=opinion.category if opinion else None,
        error_class=opinion.error_class if opinion else None,
        logic=opinion.logic if opinion else (),
        implementation=opinion.implementation if opinion else (),
        rationale=opinion.rationale if opinion else (),
        detail=vote.detail,
        attempts=vote.attempts,
        input_tokens=input_tokens(vote.usage),
        output_tokens=vote.usage.output_tokens,
        dollars=vote.usage.total_cost,
    )
