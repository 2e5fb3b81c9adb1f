"""One system over the suite: asked through Inspect's `eval_set`, graded as it answers, written into a run folder.

The folder holds what `lmrbench grade` writes, `usage.jsonl`, `progress.jsonl` where agents were traced, Inspect's logs
in `logs/`, and in `cache/` every answer of a model, so that a run which was killed asks nothing twice. Samples that the
machinery left unanswered have a line in `usage.jsonl` and no grade; the same call asks for them again.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from inspect_ai import eval_set
from inspect_ai._util.error import PrerequisiteError  # inspect-evals-lint: ignore[private_api_imports] -- no other
from inspect_ai.event import Event, ModelEvent, SpanBeginEvent, SpanEndEvent
from inspect_ai.log import EvalSample, list_eval_logs, read_eval_log
from inspect_ai.model import (
    CachePolicy,
    Model,
    ModelUsage,
)

from lmrbench.errors import RecordError, ServiceError
from lmrbench.files import write_whole
from lmrbench.grading.grader import Grader
from lmrbench.jsonl import read_lines
from lmrbench.models.endings import ended_by_limit, one_line, turns, unanswered
from lmrbench.models.opening import input_tokens, reason_of
from lmrbench.models.settings import TASK_FIELDS, Settings
from lmrbench.progress import lines_of_progress
from lmrbench.records import StoredRecord
from lmrbench.runs.folder import (
    LOGS,
    SNAPSHOTS,
    SUBMISSIONS,
    USAGE,
    Run,
    read_facts,
    read_run,
    run_facts,
    write_facts,
    write_submissions,
)
from lmrbench.runs.grading import grade_into, take_over
from lmrbench.runs.records import UNANSWERED, RunFacts, Snapshot, Usage
from lmrbench.solving.attendance import PROGRESS
from lmrbench.solving.scoring import SampleGrader, grader_of_run
from lmrbench.solving.task import epochs_of, lmr_bench
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Answer, Submission

CACHE = "cache"


class UnfinishedError(ServiceError):
    """Some tasks were not answered, through no fault of the model. The same command asks them again."""


def require_finished(run: Run) -> None:
    """Raise UnfinishedError, which counts what is missing by kind, unless every sample of a run has its grade."""
    if missing := run.unanswered:
        kinds = []
        for status, number in Counter(item.status for item in missing).items():
            details = Counter(item.detail for item in missing if item.status == status).most_common()
            others = f"; other reasons: {len(details) - 1}" if len(details) > 1 else ""
            kinds.append(f"{status.replace('_', ' ')}: {number} ({details[0][0]}{others})")
        raise UnfinishedError(
            f"{run.folder}: {len(missing)} of {len(run.usages)} samples have no answer: {'; '.join(kinds)}. "
            f"They are not counted, logs are in {run.folder / LOGS}; run the same command again to ask for them"
        )


def solve(
    folder: Path,
    settings: Settings,
    model: Model,
    grader: Grader,
    chosen: Sequence[Task],
    suite: Path,
    display: str,
    set_aside: Callable[[int], None] = lambda count: None,
) -> Run:
    """Have the chosen tasks answered and graded, as far as they are not yet.

    Args:
        folder: a new run folder, or one to resume.
        settings: the conditions of asking.
        model: who answers.
        grader: of the whole suite.
        chosen: the tasks to answer.
        suite: the folder of the suite.
        display: Inspect's.
        set_aside: called with the number of grades there that this installation did not write, if there are any.

    Returns:
        What the run folder then holds of the chosen tasks.

    Raises:
        RecordError: the folder holds answers under other conditions.
    """
    before = read_facts(folder)
    if before is not None and (other := _other_conditions(before, settings)):
        if (folder / SUBMISSIONS).exists() and (folder / SUBMISSIONS).stat().st_size:
            raise RecordError(f"{folder}: is a run with another {', '.join(other)}; name another folder with --out")
        # Nothing was answered under the other conditions.
        shutil.rmtree(folder / LOGS, ignore_errors=True)
    write_facts(folder, run_facts(grader.tasks.values(), chosen, grader.seeds, grader.sandbox, settings.recorded()))
    wanted = lmr_bench(
        tasks=[task.id for task in chosen],
        suite=str(suite),
        # Inspect tells evaluations apart by their arguments: a run that grows by samples goes on, and begins none anew.
        **settings.model_copy(update={"system": settings.name, "samples": 1}).model_dump(
            mode="json", include=set(TASK_FIELDS)
        ),
    )
    expected = {(task.id, sample) for task in chosen for sample in range(settings.samples)}
    # Inspect prints on standard output, which is ours.
    quiet = redirect_stdout(sys.stderr if display == "rich" else io.StringIO())
    progress = _progress(folder, expected, display)
    held, foreign = take_over(folder)
    if foreign:
        set_aside(foreign)
    graded = {Answer(terms.system, terms.task, terms.sample): data for terms, data in held.items()}
    with quiet, progress, _cached_in(folder / CACHE), _graded_by(SampleGrader(grader, folder, graded)):
        try:
            _, logs = eval_set(
                wanted,
                log_dir=str(folder / LOGS),
                model=model,
                display=display,  # type: ignore[arg-type]
                # Every sample is on the disk as soon as it is done.
                log_buffer=1,
                log_realtime=False,
                # A sample that fails does not end the others, and it is for the user to ask for it again.
                fail_on_error=True,
                continue_on_fail=True,
                retry_attempts=1,
                retry_immediate=False,
                log_dir_allow_dirty=True,
                cache=CachePolicy(expiry=None),
                epochs=epochs_of(settings.samples),
                token_limit=settings.token_limit,
                cost_limit=settings.cost_limit,
                max_samples=settings.connections,
                **settings.requests(),
                **settings.generation(),
            )
        except PrerequisiteError as error:
            raise RecordError(reason_of(error)) from error
    stopped = next((one_line(log.error.message) for log in logs if log.error), "it was not asked")
    usages = write_usage(folder, settings.name, expected, stopped)
    # A sample whose log was lost in a kill was handed in again: the last one counts.
    submissions = {(item.task, item.sample): item for item in read_lines(folder / SUBMISSIONS, Submission)}
    write_submissions(folder, list(submissions.values()))
    # Those of this run under its own seed; what was graded under other seeds since, or elsewhere, is graded again.
    for _ in grade_into(folder, list(submissions.values()), grader, set_aside=set_aside):
        pass
    run = read_run(folder)
    grades = tuple(item for item in run.grades if (item.task, item.sample) in expected)
    snapshots = tuple(item for item in run.snapshots if (item.task, item.sample) in expected)
    return replace(run, grades=grades, usages=tuple(usages), snapshots=snapshots)


def _other_conditions(before: RunFacts, settings: Settings) -> list[str]:
    """The settings in which a run differs from these; it may have been no run of a model at all."""
    if before.solving is None:
        return ["kind"]
    earlier, wanted = (Settings.model_validate(item) for item in (before.solving, settings.recorded()))
    # A run may grow: further samples of a task are asked beside those that are there.
    grown = earlier.model_copy(update={"samples": max(earlier.samples, wanted.samples)})
    return [key for key, value in grown.conditions.items() if wanted.conditions[key] != value]


@contextmanager
def _cached_in(folder: Path) -> Iterator[None]:
    """Have Inspect keep the answers of models there; it takes the place from the environment alone."""
    name = "INSPECT_CACHE_DIR"
    before = os.environ.get(name)
    os.environ[name] = str(folder.resolve())
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@contextmanager
def _graded_by(grader: SampleGrader) -> Iterator[None]:
    token = grader_of_run.set(grader)
    try:
        yield
    finally:
        grader_of_run.reset(token)


def write_usage(folder: Path, system: str, expected: set[tuple[str, int]], stopped: str) -> list[Usage]:
    """Write how each answer ended and what it cost, as the logs have it, to `usage.jsonl`; the lines of `expected`.

    Snapshots of traced samples go to `progress.jsonl`. A sample that the logs have an answer to keeps it, whatever came
    later. stopped: why samples are not in the logs.
    """
    usages: dict[tuple[str, int], Usage] = {}
    snapshots: dict[tuple[str, int], list[Snapshot]] = {}
    for logged in _logged_samples(folder):
        item = _usage(logged, system)
        earlier = usages.get((item.task, item.sample))
        if earlier is None or earlier.status in UNANSWERED or item.status not in UNANSWERED:
            usages[item.task, item.sample] = item
            snapshots[item.task, item.sample] = _snapshots(logged, system)
    for task, sample in expected - usages.keys():
        usages[task, sample] = Usage(
            system=system,
            task=task,
            sample=sample,
            status="machine_error",
            detail=stopped,
            calls=0,
            input_tokens=0,
            output_tokens=0,
            dollars=None,
            seconds=0.0,
            limit="",
            cut=(),
        )
    ordered = [usages[key] for key in sorted(usages)]
    _write_lines(folder / USAGE, ordered)
    if traced := [item for key in sorted(snapshots) for item in snapshots[key]]:
        _write_lines(folder / SNAPSHOTS, traced)
    return [item for item in ordered if (item.task, item.sample) in expected]


def _write_lines(file: Path, records: Sequence[StoredRecord]) -> None:
    write_whole(file, "".join(item.model_dump_json() + "\n" for item in records).encode())


def _logged_samples(folder: Path) -> Iterator[EvalSample]:
    for info in list_eval_logs(str(folder / LOGS), descending=False):
        yield from read_eval_log(info).samples or []


def _usage(sample: EvalSample, system: str) -> Usage:
    calls, noted = turns(sample.events), _noted(sample)
    ending = unanswered(sample) if "status" not in noted else None
    return Usage(
        system=system,
        task=str(sample.id),
        sample=sample.epoch - 1,
        status=noted["status"] if ending is None else ending.status,
        detail=noted["detail"] if ending is None else ending.detail,
        calls=len(calls),
        **_paid(calls),
        seconds=_working_seconds(sample.events),
        limit=sample.limit.type if sample.limit else ended_by_limit(sample.events, None),
        cut=tuple(sorted(sample.metadata.get("cut", {}))),
    )


def _snapshots(sample: EvalSample, system: str) -> list[Snapshot]:
    """What the scorer noted of each snapshot, and what had been spent when it was taken: before the next call began."""
    calls = turns(sample.events)
    found = []
    for verdict in _noted(sample).get("snapshots", ()):
        until = calls[: verdict["turn"]]
        following = next(iter(calls[len(until) :]), None)
        found.append(
            Snapshot(
                system=system,
                task=str(sample.id),
                sample=sample.epoch - 1,
                tool_calls=sum(len(call.output.message.tool_calls or ()) for call in until if call.output.choices),
                seconds=_working_seconds(sample.events, following),
                **_paid(until),
                **verdict,
            )
        )
    return found


def _noted(sample: EvalSample) -> dict[str, Any]:
    """What the scorer wrote beside the score; nothing for a sample that was left unanswered."""
    score = next(iter((sample.scores or {}).values()), None)
    return (score.metadata or {}) if score is not None and sample.error is None else {}


def _paid(calls: Sequence[ModelEvent]) -> dict[str, Any]:
    # An answer out of the cache was paid for too, before the run was killed.
    total = sum((call.output.usage for call in calls if call.output.usage is not None), ModelUsage())
    return {
        "input_tokens": input_tokens(total),
        "output_tokens": total.output_tokens,
        "dollars": total.total_cost,
    }


def _working_seconds(events: list[Event], until: Event | None = None) -> float:
    """The working time of model and tools, in the span in which Inspect runs the solvers; until: up to that event."""
    begin = next((event for event in events if isinstance(event, SpanBeginEvent) and event.name == "solvers"), None)
    if begin is None:
        return 0.0
    ends = (event for event in events if isinstance(event, SpanEndEvent) and event.id == begin.id)
    end = until or next(ends, events[-1])
    return max(0.0, (end.working_start or 0.0) - (begin.working_start or 0.0))


@contextmanager
def _progress(
    folder: Path, expected: Collection[tuple[str, int]], display: str, out: TextIO | None = None
) -> Iterator[None]:
    """Where Inspect shows no progress, a line now and then on standard error. expected: tasks, each with a sample."""

    def line() -> str:
        answered = {(item.task, item.sample) for item in read_lines(folder / SUBMISSIONS, Submission)}
        return f"{len(answered.intersection(expected))} of {len(expected)} answered, {PROGRESS}"

    with lines_of_progress(line, out) if display == "none" else nullcontext():
        yield
