"""Judges over a run folder: every vote is one line of judgements.jsonl, written as soon as it is there.

A vote holds for the very text that was judged: judge, number and digest of the text are its key. A vote that holds is
not asked again, and stands for every submission with that text. Votes that a provider failed at are asked again.
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
from lmrbench.grading.reading import read_excerpts
from lmrbench.grading.records import CaseVerdict, Grade
from lmrbench.jsonl import append_line
from lmrbench.judging.asking import Terms, Text, ask, judgement, texts
from lmrbench.judging.votes import Vote
from lmrbench.models.reachability import Reachability
from lmrbench.runs.folder import GRADES, JUDGEMENTS, read_judgements, read_run
from lmrbench.runs.records import Judgement, VoteKey
from lmrbench.tasks.digests import grading_digest
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Answer, Submission


@dataclass(frozen=True)
class Judged:
    """What judges said of the submissions of a run.

    judgements: one for each submission, judge, vote and order. unusable: the submissions of which nothing could be
    transplanted, so that there is nothing to judge.
    """

    submissions: tuple[Submission, ...]
    judgements: tuple[Judgement, ...]
    unusable: tuple[Submission, ...]


def require_judged(folder: Path, judged: Judged) -> None:
    """Raise ServiceError unless every vote came to an end that is not the provider's failure."""
    missing = [item for item in judged.judgements if item.status == "provider_error"]
    if missing:
        reasons = sorted({f"{item.judge}: {item.detail}" for item in missing})
        others = f"; other reasons: {len(reasons) - 1}" if len(reasons) > 1 else ""
        raise ServiceError(
            f"{folder}: {len(missing)} of {len(judged.judgements)} votes are missing, as the provider failed "
            f"({reasons[0]}{others}); run the same command again to ask for them"
        )


def judge_run(
    folder: Path,
    submissions: Sequence[Submission],
    chosen: Sequence[Submission],
    tasks: Mapping[str, Task],
    models: Sequence[Model],
    terms: Terms,
    config: GenerateConfig,
    connections: int = 10,
    planned: Callable[[int, int], None] = lambda done, total: None,
    voted: Callable[[Judgement], None] = lambda judgement: None,
) -> Judged:
    """Have the chosen submissions of a run folder judged, as far as they are not yet.

    submissions: all of the folder. tasks: by id. connections: requests at once, of each judge. planned: called with the
    number of votes that hold already, and of all. voted: called with each new vote, once it is on the disk.

    Raises RecordError if another process is writing to the folder, or it holds a damaged or stray judgement.
    """
    with locked(folder):
        earlier = read_judgements(folder, submissions)
        asked, unusable = _texts(folder, chosen, tasks, terms)
        held = {(item.answer, item.key): item for item in earlier if item.status != "provider_error"}
        by_key = {item.key: item for item in held.values()}
        wanted = [
            (text, VoteKey(str(model), number, text.digest))
            for text in asked
            for model in models
            for number in range(terms.votes)
        ]
        found = dict(held)
        todo: dict[VoteKey, list[Text]] = {}
        for text, key in wanted:
            if (text.of, key) not in held:
                todo.setdefault(key, []).append(text)
        planned(len(wanted) - sum(map(len, todo.values())), len(wanted))

        def keep(item: Judgement) -> None:
            append_line(folder / JUDGEMENTS, item)
            found[item.answer, item.key] = item
            voted(item)

        for key in todo.keys() & by_key.keys():
            for text in todo.pop(key):
                keep(_taken_over(by_key[key], text))

        async def ask_all() -> None:
            messages = [(key, of_key[0].message) for key, of_key in todo.items()]
            async for key, vote in _votes(messages, {str(model): model for model in models}, config, connections):
                # Other submissions with the same text share the vote, and cost nothing more.
                text, *others = todo[key]
                first = judgement(text, key, terms, vote)
                keep(first)
                for other in others:
                    keep(_taken_over(first, other))

        asyncio.run(ask_all())
    votes = tuple(found[text.of, key] for text, key in wanted)
    return Judged(tuple(chosen), votes, tuple(unusable))


async def _votes(
    asked: Sequence[tuple[VoteKey, str]], models: Mapping[str, Model], config: GenerateConfig, connections: int
) -> AsyncIterator[tuple[VoteKey, Vote]]:
    """The votes as they come in."""
    reachability = Reachability()
    slots = {name: asyncio.Semaphore(connections) for name in models}

    async def one(key: VoteKey, message: str) -> tuple[VoteKey, Vote]:
        async with slots[key.judge]:
            return key, await ask(models[key.judge], message, config, reachability)

    pending = [asyncio.create_task(one(key, message)) for key, message in asked]
    try:
        for done in asyncio.as_completed(pending):
            yield await done
    finally:
        for task in pending:
            task.cancel()


def _texts(
    folder: Path, chosen: Sequence[Submission], tasks: Mapping[str, Task], terms: Terms
) -> tuple[list[Text], list[Submission]]:
    """What judges read of each submission, and the submissions of which there is nothing to read."""
    graded = read_run(folder).grades if terms.evidence and (folder / GRADES).exists() else ()
    grades = {item.answer: item for item in graded}
    found, unusable = [], []
    for item in chosen:
        task = tasks[item.task]
        try:
            candidate = read_excerpts(task, item, terms.strip_comments)
        except SubmissionError:
            unusable.append(item)
            continue
        evidence = _evidence(folder, item, task, grades) if terms.evidence else None
        found += texts(task, item, candidate, terms, evidence)
    return found, unusable


def _evidence(folder: Path, item: Submission, task: Task, grades: Mapping[Answer, Grade]) -> tuple[CaseVerdict, ...]:
    """The verdicts on a submission, of a grade that is of this very answer to this very task."""
    grade = grades.get(item.answer)
    now = prepare(item, task).digest, grading_digest(task)
    if grade is None or (grade.candidate_digest, grade.task_digest) != now:
        kind = "no grade" if grade is None else "an outdated grade"
        raise UsageError(
            f"--evidence: {folder} has {kind} of sample {item.sample} of {item.task} by {item.system}; "
            f"run lmrbench grade {folder}"
        )
    return grade.cases


def _taken_over(item: Judgement, text: Text) -> Judgement:
    """The vote on the same text, for another submission; it cost nothing more."""
    system, task, sample = text.of
    free = {"attempts": 0, "input_tokens": 0, "output_tokens": 0, "dollars": None}
    return item.model_copy(update={"system": system, "task": task, "sample": sample, **free})
