"""Have language models judge the answers in a run folder, and append every vote to judgements.jsonl as it arrives.

The key of a vote consists of the judge, the number of the vote and the digest of the prompt. A stored vote is reused
for every submission with the same prompt. A vote is requested again only if the provider failed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from inspect_ai.model import GenerateConfig, Model

from lmrbench.errors import ServiceError, SubmissionError, UsageError
from lmrbench.files import locked
from lmrbench.grading.candidates import prepare
from lmrbench.grading.records import CaseVerdict, Grade
from lmrbench.jsonl import append_line
from lmrbench.judging.asking import JudgePrompt, ask, code_to_judge, judge_prompts, judgement
from lmrbench.judging.plan import JudgingPlan
from lmrbench.judging.votes import Vote
from lmrbench.models.reachability import Reachability
from lmrbench.runs.folder import GRADES, JUDGEMENTS, read_judgements, read_run
from lmrbench.runs.records import Judgement, VoteKey
from lmrbench.tasks.digests import grading_digest
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Answer, Submission


@dataclass(frozen=True)
class Judged:
    """The judgements of a run's submissions.

    Attributes:
        submissions: The submissions to judge.
        judgements: One for each combination of usable submission, judge, vote number and order.
        unusable: The submissions from which no code could be extracted.
        judges: The names of the judges, as used in records.
    """

    submissions: tuple[Submission, ...]
    judgements: tuple[Judgement, ...]
    unusable: tuple[Submission, ...]
    judges: tuple[str, ...]


def require_judged(folder: Path, judged: Judged) -> None:
    """Check that no vote is missing because a provider failed.

    Raises:
        ServiceError: Votes are missing; the message counts them and gives the reasons.
    """
    missing = [item for item in judged.judgements if item.status == "provider_error"]
    if missing:
        reasons = sorted({f"{item.judge}: {item.detail}" for item in missing})
        others = f"; other reasons: {len(reasons) - 1}" if len(reasons) > 1 else ""
        raise ServiceError(
            f"{folder}: {len(missing)} of {len(judged.judgements)} votes are missing because the provider failed "
            f"({reasons[0]}{others}); run the same command again to request them"
        )


def judge_run(
    folder: Path,
    submissions: Sequence[Submission],
    chosen: Sequence[Submission],
    tasks: Mapping[str, Task],
    models: Sequence[Model],
    plan: JudgingPlan,
    config: GenerateConfig,
    connections: int = 10,
    planned: Callable[[int, int], None] = lambda done, total: None,
    voted: Callable[[Judgement], None] = lambda judgement: None,
) -> Judged:
    """Ask judges for the missing votes on the chosen submissions of a run folder.

    Args:
        folder: The run folder.
        submissions: All submissions in the folder.
        chosen: The submissions to judge.
        tasks: The tasks by id.
        models: The judges.
        plan: The number of votes, and the options that determine the prompts.
        config: Settings of the requests.
        connections: Maximum number of concurrent requests to each judge.
        planned: Called once with the number of stored votes and the total number of votes.
        voted: Called with each new vote after it is written to disk.

    Returns:
        Stored and new votes on the chosen submissions.

    Raises:
        RecordError: Another process is writing to the folder, or it contains an invalid judgement.
        UsageError: The plan includes evidence, and a submission has no grade or an outdated one.
    """
    with locked(folder):
        earlier = read_judgements(folder, submissions)
        prompts, unusable = _prompts(folder, chosen, tasks, plan)
        found = {(item.answer, item.key): item for item in earlier if item.status != "provider_error"}
        by_key = {item.key: item for item in found.values()}
        wanted = [
            (prompt, VoteKey(plan.name_of(model), number, prompt.digest))
            for prompt in prompts
            for model in models
            for number in range(plan.votes)
        ]
        missing: dict[VoteKey, list[JudgePrompt]] = {}
        for prompt, key in wanted:
            if (prompt.answer, key) not in found:
                missing.setdefault(key, []).append(prompt)
        planned(len(wanted) - sum(map(len, missing.values())), len(wanted))

        def keep(item: Judgement) -> None:
            append_line(folder / JUDGEMENTS, item)
            found[item.answer, item.key] = item
            voted(item)

        for key in missing.keys() & by_key.keys():
            for prompt in missing.pop(key):
                keep(_taken_over(by_key[key], prompt))

        async def ask_all() -> None:
            messages = [(key, same[0].message) for key, same in missing.items()]
            judges = {plan.name_of(model): model for model in models}
            async for key, vote in _votes(messages, judges, plan, config, connections):
                first, *others = missing[key]
                item = judgement(first, key, plan, vote)
                keep(item)
                for other in others:
                    keep(_taken_over(item, other))

        asyncio.run(ask_all())
    votes = tuple(found[prompt.answer, key] for prompt, key in wanted)
    return Judged(tuple(chosen), votes, tuple(unusable), tuple(map(plan.name_of, models)))


async def _votes(
    asked: Sequence[tuple[VoteKey, str]],
    models: Mapping[str, Model],
    plan: JudgingPlan,
    config: GenerateConfig,
    connections: int,
) -> AsyncIterator[tuple[VoteKey, Vote]]:
    """Ask for votes concurrently, and yield them as they arrive."""
    reachability = Reachability()
    slots = {name: asyncio.Semaphore(connections) for name in models}

    async def one(key: VoteKey, message: str) -> tuple[VoteKey, Vote]:
        async with slots[key.judge]:
            return key, await ask(models[key.judge], message, config, reachability, plan)

    pending = [asyncio.create_task(one(key, message)) for key, message in asked]
    try:
        for done in asyncio.as_completed(pending):
            yield await done
    finally:
        for task in pending:
            task.cancel()


def _prompts(
    folder: Path, chosen: Sequence[Submission], tasks: Mapping[str, Task], plan: JudgingPlan
) -> tuple[list[JudgePrompt], list[Submission]]:
    """Return the prompts for the submissions, and the submissions from which no code can be extracted."""
    graded = read_run(folder).grades if plan.evidence and (folder / GRADES).exists() else ()
    grades = {item.answer: item for item in graded}
    found, unusable = [], []
    for item in chosen:
        task = tasks[item.task]
        try:
            candidate = code_to_judge(task, item, plan)
        except SubmissionError:
            unusable.append(item)
            continue
        evidence = _evidence(folder, item, task, grades) if plan.evidence else None
        found += judge_prompts(task, item, candidate, plan, evidence)
    return found, unusable


def _evidence(folder: Path, item: Submission, task: Task, grades: Mapping[Answer, Grade]) -> tuple[CaseVerdict, ...]:
    """Return the verdicts on a submission's cases; raise UsageError if its grade is missing or outdated."""
    grade = grades.get(item.answer)
    now = prepare(item, task).digest, grading_digest(task)
    if grade is None or (grade.candidate_digest, grade.task_digest) != now:
        kind = "no grade" if grade is None else "an outdated grade"
        raise UsageError(
            f"--evidence: {folder} has {kind} for sample {item.sample} of {item.task} by {item.system}; "
            f"run lmrbench grade {folder}"
        )
    return grade.cases


def _taken_over(item: Judgement, prompt: JudgePrompt) -> Judgement:
    """Return the record of a vote that is reused for another submission with the same prompt, at no cost."""
    system, task, sample = prompt.answer
    free = {"attempts": 0, "input_tokens": 0, "output_tokens": 0, "dollars": None}
    return item.model_copy(update={"system": system, "task": task, "sample": sample, **free})
