"""Read the sessions of agents, and count the actions in them by kind.

A session is the work of one agent on one task. The kinds of actions are those in the LMR-BENCH paper's figures on
agents. Sessions are read from Inspect's logs in run folders, from OpenHands event folders, and from the published
records. Copies of a session are counted once.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmrbench.errors import RecordError, UsageError
from lmrbench.files import read_plain
from lmrbench.integrations.lmr_bench.published import (
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


# Matches the name of a session's folder if it begins with the number of a paper, as in 14-EmojiCrypt. The names of
# other folders are UUIDs.
_NUMBERED = re.compile(r"([0-9]{1,3})[-_. ]")


_EDITORS = ("text_editor", "file_editor", "str_replace_editor", "str_replace_based_edit_tool")


class LoggedSession(Record):
    """A session, the work of one agent on one task.

    Attributes:
        system: The name of the system.
        task: The task of the session or, in LMR-BENCH's public edition, the paper.
        solved: Whether the agent solved the task, or None if unknown.
        counts: The number of actions by kind, without zeros.
        repeated: Whether the published results use another session of this system and paper instead.
        copies: The number of copies of the session that were found.
    """

    system: str
    task: str
    solved: bool | None
    counts: dict[str, int]
    repeated: bool = False
    copies: int = 1


def sessions_of_run(run: Run) -> list[LoggedSession]:
    """Read the sessions in the logs of a run.

    Args:
        run: A run of agents.

    Returns:
        One session for each sample (attempt at a task); the last session if a sample was retried.

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

    Events with `source` "agent" count as actions if they have an `action` or are messages. Two folders contain the same
    session if their first events are equal and have a timestamp, or if all their events are equal. Of such folders, the
    one with the most events is used.

    Args:
        folders: Folders that contain event folders at any depth. A folder's name is used as the name of its system.

    Returns:
        The sessions, without copies.

    Raises:
        RecordError: A file is not valid JSON, or a folder contains no events.
    """
    found: dict[str, tuple[LoggedSession, int]] = {}
    for folder in folders:
        by_place: dict[Path, list[dict[str, Any]]] = {}
        for file in sorted(folder.rglob("*.json"), key=_by_number):
            event = _event(file)
            if isinstance(event, dict) and "source" in event:
                by_place.setdefault(file.parent, []).append(event)
        if not by_place:
            raise RecordError(f"{folder}: no events found")
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
        outcomes: A CSV file that lists which sessions in `events` solved their task; see `with_outcomes`.

    Raises:
        UsageError: `outcomes` is given without `events`, or there are no sessions.
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
        raise UsageError(f"{', '.join(str(run.folder) for run in runs)}: no logs of agents found; name runs of agents")
    return found


def with_outcomes(sessions: Iterable[LoggedSession], file: Path) -> list[LoggedSession]:
    """Add the outcomes in a CSV file to sessions.

    The file has the columns `task` (the path of a session's folder, or one of the folder names in that path), `solved`
    (yes or no) and optionally `system`. A session with several rows counts as solved if all of them say yes.

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
    """Return the published sessions. A session counts as solved if all unit tests recorded for its paper pass."""
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
        The sessions. The task of a session is the number of its paper, which is read from the start of the name of a
        folder above its events; "" if no name starts with a number. Sessions without a paper, and all but the first
        session of a paper, count as repeated.

    Raises:
        RecordError: An event is not valid JSON.
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


def _kinds_of_events(events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the kind of each action. Since version 1, OpenHands records tools instead of kinds of actions."""
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
    """Yield the kind of each action in a sample.

    Actions are read from the events that the agent's program recorded or, if there are none, from the model's messages.
    """
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
    """Yield the rows of a file of outcomes: the line number, and the values of system, task and solved."""
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
        raise RecordError(f"{file} can't be read: {error}") from error
