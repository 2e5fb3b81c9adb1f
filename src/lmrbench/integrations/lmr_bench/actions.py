"""The actions of agents by kind, and a test of whether sessions that solve their task differ from the others.

The kinds are those of the LMR-BENCH paper's figure on agents. Sessions are read from Inspect's logs in run folders,
from OpenHands event folders, and from the published records. Copies of a session are counted once.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lmrbench.errors import RecordError, UsageError
from lmrbench.files import read_plain
from lmrbench.integrations.lmr_bench.published import (
    PaperFigure,
    actions_of_sessions,
    outcomes,
    solved_papers,
    system_title,
)
from lmrbench.integrations.lmr_bench.records import PublicRecords
from lmrbench.records import Record
from lmrbench.runs.folder import Run
from lmrbench.runs.logs import EVENTS, log_files, logged_samples, tasks_of

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ChatMessage

KINDS = ("edit", "read", "run", "message", "finish", "other")
PERMUTATIONS = 10_000

# The kinds of OpenHands actions; all others are "other".
_OPENHANDS = {
    "edit": "edit",
    "read": "read",
    "run": "run",
    "run_ipython": "run",
    "message": "message",
    "think": "message",
    "finish": "finish",
}
# The kinds of tools by their lower-case names; all others are "other".
_TOOLS = {
    **dict.fromkeys(("bash", "python", "shell", "terminal", "exec_command", "execute_bash"), "run"),
    **dict.fromkeys(("edit", "write", "multiedit", "apply_patch"), "edit"),
    **dict.fromkeys(("read", "grep", "glob", "ls", "list_files"), "read"),
    **dict.fromkeys(("think", "message"), "message"),
    **dict.fromkeys(("submit", "finish"), "finish"),
}
# The folder of a session that is named after its paper, such as 14-EmojiCrypt; others are named by a UUID.
_NUMBERED = re.compile(r"([0-9]{1,3})[-_. ]")
_EDITORS = ("text_editor", "file_editor", "str_replace_editor", "str_replace_based_edit_tool")


class LoggedSession(Record):
    """The session of one agent on one task.

    Attributes:
        system: The name of the system.
        task: The task of the session.
        solved: Whether the agent solved the task, or None if unknown.
        counts: The number of actions by kind, without zeros.
        repeated: Whether the published results use another session of this system and paper.
        copies: The number of copies of the session that were found.
    """

    system: str
    task: str
    solved: bool | None
    counts: dict[str, int]
    repeated: bool = False
    copies: int = 1


class Distribution(Record):
    """The actions of a system's sessions with a certain outcome.

    Attributes:
        system: The name of the system.
        outcome: The outcome of the sessions; "all" for all of them.
        sessions: The number of sessions.
        actions: The number of actions.
        counts: The number of actions by kind.
        shares: The share of actions by kind; empty if there are no actions.
    """

    system: str
    outcome: str
    sessions: int
    actions: int
    counts: dict[str, int]
    shares: dict[str, float]


class Contrast(Record):
    """A permutation test of whether sessions of a system that solved their task differ from the others.

    Attributes:
        system: The name of the system.
        solved: The number of sessions that solved their task.
        unsolved: The number of sessions that did not.
        distance: The total variation distance between the mean shares of both groups, from 0 to 1. None if a group is
            empty.
        p: The share of 10,000 permutations of the outcomes with at least this distance, with the observed one counted
            as a permutation. None if a group is empty.
    """

    system: str
    solved: int
    unsolved: int
    distance: float | None
    p: float | None


def sessions_of_run(run: Run) -> list[LoggedSession]:
    """Read the sessions in the logs of a run.

    Args:
        run: A run of agents.

    Returns:
        A session for each sample; the last one if a sample was retried.

    Raises:
        UsageError: Inspect is not installed.
        RecordError: A log is damaged or too large.
    """
    passed = {(item.task, item.sample): item.correct for item in run.grades}
    systems = [item.system for item in run.usages] or [item.system for item in run.grades]
    found = {}
    for name in log_files(run.folder):
        for sample in logged_samples(run.folder, name):
            key = (str(sample.id), sample.epoch - 1)
            outcomes = [passed.get((task, key[1])) for task in tasks_of(sample.id, sample.metadata)]
            found[key] = LoggedSession(
                system=systems[0] if systems else run.folder.name,
                task=key[0],
                solved=None if None in outcomes else all(outcomes),
                counts=Counter(_kinds_of_sample(sample)),
            )
    return list(found.values())


def sessions_of_events(*folders: Path) -> list[LoggedSession]:
    """Read sessions from OpenHands event folders, which have one JSON file per event.

    Events with `source` "agent" and an `action` are actions. Two folders hold the same session if their first events
    are equal and have a timestamp, or if all their events are equal. The folder with more events is used.

    Args:
        folders: Folders with event folders at any depth. Each is named after its system.

    Returns:
        A session for each event folder, without copies.

    Raises:
        RecordError: A file is not JSON, or a folder holds no events.
    """
    found: dict[str, tuple[LoggedSession, int]] = {}
    for folder in folders:
        by_place: dict[Path, list[dict[str, Any]]] = {}
        for file in sorted(folder.rglob("*.json"), key=_by_number):
            event = _event(file)
            if isinstance(event, dict) and "source" in event:
                by_place.setdefault(file.parent, []).append(event)
        if not by_place:
            raise RecordError(f"{folder}: holds no events")
        for place, events in by_place.items():
            key = json.dumps(events[0] if "timestamp" in events[0] else events, sort_keys=True)
            known, length = found.get(key, (None, 0))
            copies = 1 if known is None else known.copies + 1
            if known is None or len(events) > length:
                name = "/".join(place.relative_to(folder).parts) or folder.name
                kinds = Counter(_kinds_of_events(events))
                known, length = LoggedSession(system=folder.name, task=name, solved=None, counts=kinds), len(events)
            found[key] = known.model_copy(update={"copies": copies}), length
    return [session for session, _ in found.values()]


def sessions_of(runs: Sequence[Run], events: Sequence[Path], outcomes: Path | None) -> list[LoggedSession]:
    """Return the sessions of runs and of folders of events, or the published sessions if neither is given.

    Args:
        runs: Runs of agents.
        events: Folders of OpenHands events.
        outcomes: A CSV file that says which sessions of `events` solved their task.

    Raises:
        UsageError: There are outcomes without events, or no sessions.
    """
    if outcomes is not None and not events:
        raise UsageError("--outcomes needs --events, the folder of the sessions whose outcomes it lists")
    if not runs and not events:
        return published_sessions()
    logged = sessions_of_events(*events)
    if outcomes is not None:
        logged = with_outcomes(logged, outcomes)
    found = [item for run in runs for item in sessions_of_run(run)] + logged
    if not found:
        raise UsageError(
            f"{', '.join(str(run.folder) for run in runs)}: no logs of an agent; name run folders of agents"
        )
    return found


def with_outcomes(sessions: Iterable[LoggedSession], file: Path) -> list[LoggedSession]:
    """Add outcomes from a CSV file to sessions.

    The file has the columns `task` (the path of a session's folder, or one of the folder names in it), `solved` (yes
    or no) and optionally `system`. A session with several rows is solved if all rows say so.

    Args:
        sessions: Sessions, as `sessions_of_events` returns them.
        file: The CSV file.

    Returns:
        The sessions; those without a row are unchanged.

    Raises:
        RecordError: The file can't be read, has other columns or values, or has a row that matches no session.
    """
    known = list(sessions)
    outcomes: dict[int, list[bool]] = {}
    for number, (system, task, solved) in _outcomes(file):
        places = [
            place
            for place, item in enumerate(known)
            if system in ("", item.system) and task in (item.task, *item.task.split("/"))
        ]
        if not places:
            raise RecordError(f"{file}:{number}: no session matches {' '.join(filter(None, (system, task)))!r}")
        for place in places:
            outcomes.setdefault(place, []).append(solved)
    return [
        item.model_copy(update={"solved": all(outcomes[place])}) if place in outcomes else item
        for place, item in enumerate(known)
    ]


def published_sessions() -> list[LoggedSession]:
    """Return the published sessions. A session counts as solved if all recorded functions of its paper pass."""
    solved = solved_papers(outcomes())
    found = []
    for system, paper, is_named, counts in actions_of_sessions():
        merged: Counter[str] = Counter()
        for name, count in counts.items():
            merged[_OPENHANDS.get(name, "other")] += count
        outcome = solved.get((system, paper)) if is_named else None
        found.append(
            LoggedSession(system=system, task=paper, solved=outcome, counts=dict(+merged), repeated=not is_named),
        )
    return found


def recorded_sessions(records: PublicRecords) -> list[LoggedSession]:
    """Read the sessions of OpenHands in a clone of the public edition.

    Args:
        records: The records of the clone.

    Returns:
        The sessions. Their task is the number of the paper, with which a folder on the way to the events starts; ""
        without one. Such sessions, and those of a paper that has another one, count as repeated.

    Raises:
        RecordError: An event is not JSON.
    """
    solved = solved_papers(records.outcomes())
    found = []
    for (setting, model), folders in records.logs.items():
        system = system_title(setting, model)
        papers: set[str] = set()
        for item in sessions_of_events(*(records.clone / folder for folder in folders)):
            numbers = [match[1] for part in item.task.split("/") if (match := _NUMBERED.match(part))]
            paper = str(int(numbers[-1])) if numbers else ""
            repeated = not paper or paper in papers
            papers.add(paper)
            outcome = None if repeated else solved.get((system, paper))
            named = {"system": system, "task": paper, "solved": outcome, "repeated": repeated}
            found.append(item.model_copy(update=named))
    return found


def action_figures(sessions: Iterable[LoggedSession]) -> list[PaperFigure]:
    """Return the counts of actions that Figures 5 and 6 of the paper draw, which print no numbers.

    Args:
        sessions: The sessions of OpenHands.
    """
    found = distributions(sessions)
    wholes = {item.system: item for item in found if item.outcome in ("all", "with repeats")}
    kinds = ", ".join(KINDS)
    figures = [("Figure 5", item) for item in wholes.values()]
    figures += [("Figure 6", item) for item in found if item.outcome in ("solved", "not solved")]
    return [
        PaperFigure(
            place=place,
            name=f"{item.system}, {item.outcome}, actions: {kinds}",
            printed=(),
            recomputed=tuple(item.counts.values()),
            unit="count",
        )
        for place, item in figures
    ]


def distributions(sessions: Iterable[LoggedSession]) -> list[Distribution]:
    """Return the distributions of actions by system and outcome.

    Args:
        sessions: Sessions of any systems.

    Returns:
        For each system, the distributions over all sessions and over those of each outcome, without repeated sessions.
        Systems with repeated sessions also have a distribution "with repeats".
    """
    groups: dict[tuple[str, str], list[LoggedSession]] = {}
    for item in sessions:
        outcome = {True: "solved", False: "not solved", None: "not known"}[item.solved]
        for name in ("with repeats",) if item.repeated else ("all", outcome, "with repeats"):
            groups.setdefault((item.system, name), []).append(item)
    return [
        _distribution(system, outcome, items)
        for (system, outcome), items in sorted(groups.items())
        if outcome != "with repeats" or any(item.repeated for item in items)
    ]


def contrasts(sessions: Iterable[LoggedSession], seed: int = 0) -> list[Contrast]:
    """Run a permutation test for each system. Sessions without actions or without an outcome are ignored.

    Args:
        sessions: Sessions of any systems.
        seed: The seed of the permutations.

    Returns:
        The result for each system.
    """
    systems: dict[str, list[LoggedSession]] = {}
    for item in sessions:
        systems.setdefault(item.system, [])
        if item.solved is not None and item.counts:
            systems[item.system].append(item)
    return [_contrast(system, items, seed) for system, items in sorted(systems.items())]


def _contrast(system: str, sessions: Sequence[LoggedSession], seed: int) -> Contrast:
    solved = np.array([bool(item.solved) for item in sessions], dtype=bool)
    count = int(solved.sum())
    if not 0 < count < len(solved):
        return Contrast(system=system, solved=count, unsolved=len(solved) - count, distance=None, p=None)
    shares = np.array([[item.counts.get(kind, 0) for kind in KINDS] for item in sessions], dtype=float)
    shares /= shares.sum(axis=1, keepdims=True)
    distance = _distance(shares, solved)
    generator = np.random.default_rng(seed)
    # The tolerance counts permutations that reproduce the observed distance up to rounding.
    as_far = sum(_distance(shares, generator.permutation(solved)) >= distance - 1e-12 for _ in range(PERMUTATIONS))
    return Contrast(
        system=system,
        solved=count,
        unsolved=len(solved) - count,
        distance=distance,
        p=(1 + as_far) / (1 + PERMUTATIONS),
    )


def _distance(shares: NDArray[np.float64], solved: NDArray[np.bool_]) -> float:
    return float(np.abs(shares[solved].mean(axis=0) - shares[~solved].mean(axis=0)).sum() / 2)


def _distribution(system: str, outcome: str, sessions: Sequence[LoggedSession]) -> Distribution:
    total: Counter[str] = Counter()
    for item in sessions:
        total.update(item.counts)
    count = total.total()
    return Distribution(
        system=system,
        outcome=outcome,
        sessions=len(sessions),
        actions=count,
        counts={kind: total[kind] for kind in KINDS},
        shares={kind: total[kind] / count for kind in KINDS} if count else {},
    )


def _kinds_of_events(events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the kind of each action. Since version 1, OpenHands names tools, and no longer kinds of actions."""
    for event in events:
        if event.get("source") != "agent":
            continue
        action, tool = event.get("action"), event.get("tool_name")
        if isinstance(action, str):
            yield _OPENHANDS.get(action, "other")
        elif isinstance(action, dict) and isinstance(tool, str):
            yield _kind_of_call(tool.lower(), action)
        elif event.get("kind") == "MessageEvent":
            yield "message"


def _kinds_of_sample(sample: EvalSample) -> Iterator[str]:
    """Yield the kinds of the events that the agent's program left, or else those of the model's messages."""
    kept = [event.data for event in sample.events if event.event == "info" and event.source == EVENTS]
    events = [event for part in kept if isinstance(part, list) for event in part if isinstance(event, dict)]
    return _kinds_of_events(events) if events else _kinds_of_messages(_as_generated(sample))


def _as_generated(sample: EvalSample) -> Iterator[ChatMessage]:
    """Return the messages of a sample as the model wrote them. Inspect's agent removes `submit` calls from them."""
    from lmrbench.models.endings import turns

    written = {event.output.message.id: event.output.message for event in turns(sample.events) if event.output.choices}
    return (written.get(message.id, message) for message in sample.messages)


def _kinds_of_messages(messages: Iterable[Any]) -> Iterator[str]:
    """Yield the kind of each tool call, and "message" for each message of the assistant without tool calls."""
    for message in messages:
        if message.role == "assistant":
            for call in message.tool_calls or ():
                yield _kind_of_call(call.function.lower(), call.arguments)
            if not message.tool_calls:
                yield "message"


def _kind_of_call(tool: str, arguments: Mapping[str, Any]) -> str:
    if tool in _EDITORS:
        return "read" if arguments.get("command") == "view" else "edit"
    return _TOOLS.get(tool, "other")


def _by_number(file: Path) -> tuple[Path, int, str]:
    """Return the sort key of an event file, which is named by its number."""
    return file.parent, int(file.stem) if file.stem.isdecimal() else -1, file.name


def _event(file: Path) -> Any:
    try:
        return json.loads(read_plain(file))
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{file}: not valid JSON: {error}") from error


def _outcomes(file: Path) -> Iterator[tuple[int, tuple[str, str, bool]]]:
    """Yield the rows of a file of outcomes: the line number, and system, task and solved."""
    values = {**dict.fromkeys(("yes", "true", "1", "pass"), True), **dict.fromkeys(("no", "false", "0", "fail"), False)}
    try:
        rows = csv.DictReader(file.read_text("utf-8-sig").splitlines())
        if not {"task", "solved"} <= {*(rows.fieldnames or ())}:
            raise RecordError(f"{file}:1: expected a CSV file with the columns task, solved and optionally system")
        for row in rows:
            system, task, solved = ((row.get(name) or "").strip() for name in ("system", "task", "solved"))
            if solved.casefold() not in values:
                raise RecordError(f"{file}:{rows.line_num}: solved: {solved!r} is not valid; use yes or no")
            yield rows.line_num, (system, task.strip("/"), values[solved.casefold()])
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RecordError(f"{file}: can't be read: {error}") from error
