"""Record the cost and outcome of each answer of a run, from Inspect's logs.

Each answer gets a line in `usage.jsonl`. If snapshots of an agent's workspace were taken, each of them gets a line in
`progress.jsonl`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from inspect_ai.event import Event, ModelEvent, SpanBeginEvent, SpanEndEvent
from inspect_ai.log import EvalSample, list_eval_logs, read_eval_log
from inspect_ai.model import ModelUsage

from lmrbench.files import write_whole
from lmrbench.models.endings import ended_by_limit, turns, unanswered_ending
from lmrbench.models.opening import input_tokens
from lmrbench.records import StoredRecord
from lmrbench.runs.folder import LOGS, SNAPSHOTS, USAGE
from lmrbench.runs.logs import TASKS, tasks_of
from lmrbench.runs.records import UNANSWERED, Snapshot, Usage


def write_usage(folder: Path, system: str, expected: set[tuple[str, int]], stopped: str) -> list[Usage]:
    """Write `usage.jsonl`, and `progress.jsonl` if snapshots were taken, from the logs of a run.

    If several attempts at a sample are logged, the last one counts, but an answer is never replaced by a failure.

    Args:
        folder: the run folder.
        system: the system's name in records.
        expected: the samples that were requested, as pairs of task and sample number.
        stopped: the reason to record for samples that are not in the logs.

    Returns:
        The usage of the expected samples, ordered by task and sample number.
    """
    usages: dict[tuple[str, int], Usage] = {}
    snapshots: dict[tuple[str, int], list[Snapshot]] = {}
    for logged in _logged_samples(folder):
        for item in _usages(logged, system):
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


def _usages(sample: EvalSample, system: str) -> Iterator[Usage]:
    """Yield the usage of each task of a sample. The cost of a session is divided equally among its tasks."""
    calls, noted = turns(sample.events), _noted(sample)
    names = tasks_of(sample.id, sample.metadata)
    paid = _paid(calls)
    for place, name in enumerate(names):
        of_task = noted.get(TASKS, {}).get(name, {}) if len(names) > 1 else noted
        ending = unanswered_ending(sample) if "status" not in of_task else None

        def part(count: int, place: int = place) -> int:
            return count // len(names) + (place < count % len(names))

        yield Usage(
            system=system,
            task=name,
            sample=sample.epoch - 1,
            status=of_task["status"] if ending is None else ending.status,
            detail=of_task["detail"] if ending is None else ending.detail,
            calls=part(len(calls)),
            input_tokens=part(paid["input_tokens"]),
            output_tokens=part(paid["output_tokens"]),
            dollars=None if paid["dollars"] is None else paid["dollars"] / len(names),
            seconds=_working_seconds(sample.events) / len(names),
            limit=sample.limit.type if sample.limit else ended_by_limit(sample.events, None),
            cut=tuple(sorted(sample.metadata.get("cut", {}))),
            runs=of_task.get("runs"),
        )


def _snapshots(sample: EvalSample, system: str) -> list[Snapshot]:
    """Return the scorer's result for each snapshot, with the cost up to the start of the next model call."""
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
    """Return the metadata of a sample's score, or an empty dict if the sample is unanswered."""
    score = next(iter((sample.scores or {}).values()), None)
    return (score.metadata or {}) if score is not None and sample.error is None else {}


def _paid(calls: Sequence[ModelEvent]) -> dict[str, Any]:
    # Model output from the cache counts as well, because it was paid for before the run was interrupted.
    total = sum((call.output.usage for call in calls if call.output.usage is not None), ModelUsage())
    return {
        "input_tokens": input_tokens(total),
        "output_tokens": total.output_tokens,
        "dollars": total.total_cost,
    }


def _working_seconds(events: list[Event], until: Event | None = None) -> float:
    """Return the seconds of working time in Inspect's span `solvers`, or in its part before the event `until`."""
    begin = next((event for event in events if isinstance(event, SpanBeginEvent) and event.name == "solvers"), None)
    if begin is None:
        return 0.0
    ends = (event for event in events if isinstance(event, SpanEndEvent) and event.id == begin.id)
    end = until or next(ends, events[-1])
    return max(0.0, (end.working_start or 0.0) - (begin.working_start or 0.0))
