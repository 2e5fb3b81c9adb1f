"""What do agents do, and do those that solve a task do something else?

Kinds of actions are those of LMR-BENCH's figure on agents. Sessions come from run folders (Inspect's logs), from event
folders of OpenHands, and from the published records.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmrbench.analysis.published import actions_of_sessions, solved_papers
from lmrbench.errors import RecordError
from lmrbench.grading.runs import Run
from lmrbench.interop.logs import log_files, logged_samples
from lmrbench.records import Record
from lmrbench.storage import read_plain

KINDS = ("edit", "read", "run", "message", "finish", "other")
DRAWS = 10_000

# OpenHands' names of actions; everything else is another kind.
_OPENHANDS = {
    "edit": "edit",
    "read": "read",
    "run": "run",
    "run_ipython": "run",
    "message": "message",
    "think": "message",
    "finish": "finish",
}
# Names of tools that agents have, in lower case.
_TOOLS = {
    **dict.fromkeys(("bash", "python", "shell", "exec_command", "execute_bash"), "run"),
    **dict.fromkeys(("edit", "write", "multiedit", "apply_patch"), "edit"),
    **dict.fromkeys(("read", "grep", "glob", "ls", "list_files"), "read"),
    **dict.fromkeys(("think", "message"), "message"),
    **dict.fromkeys(("submit", "finish"), "finish"),
}
_EDITORS = ("text_editor", "str_replace_editor", "str_replace_based_edit_tool")


class Session(Record):
    """What one agent did on one task. solved: None where no outcome is known. counts: by kind, zeros left out."""

    system: str
    task: str
    solved: bool | None
    counts: dict[str, int]


class Distribution(Record):
    """The actions of a system's sessions, or of those that solved their task, or of the others.

    shares: of all these actions, by kind; empty without any.
    """

    system: str
    outcome: str
    sessions: int
    actions: int
    shares: dict[str, float]


class Contrast(Record):
    """Whether the sessions of a system that solved their task differ from the others.

    distance: half the sum, over kinds, of the differences between the mean shares: 0 for the same, 1 for nothing in
    common. p: the share of 10,000 permutations of the outcomes with at least this distance (the one at hand is counted
    as one of them). Both are None without sessions of either outcome.
    """

    system: str
    solved: int
    unsolved: int
    distance: float | None
    p: float | None


def sessions_of_run(run: Run) -> list[Session]:
    """A session for each sample in the logs of a run folder; the last one of those that were asked again."""
    passed = {(item.task, item.sample): item.passed for item in run.grades}
    systems = [item.system for item in run.usages] or [item.system for item in run.grades]
    found = {}
    for name in log_files(run.folder):
        for sample in logged_samples(run.folder, name):
            key = (str(sample.id), sample.epoch - 1)
            found[key] = Session(
                system=systems[0] if systems else run.folder.name,
                task=key[0],
                solved=passed.get(key),
                counts=Counter(_kinds_of_messages(sample.messages)),
            )
    return list(found.values())


def sessions_of_events(folder: Path) -> list[Session]:
    """A session for each folder below that holds OpenHands' events, one JSON file each.

    An agent's action is an event with `source` "agent" and an `action`. Raises RecordError for a file that is no JSON.
    """
    by_folder: dict[Path, list[str]] = {}
    for file in sorted(folder.rglob("*.json")):
        event = _event(file)
        if isinstance(event, dict) and "source" in event:
            kinds = by_folder.setdefault(file.parent, [])
            if event["source"] == "agent" and isinstance(event.get("action"), str):
                kinds.append(_OPENHANDS.get(event["action"], "other"))
    if not by_folder:
        raise RecordError(f"{folder}: holds no events")
    names = {place: "/".join(place.relative_to(folder).parts) or folder.name for place in by_folder}
    return [
        Session(system=folder.name, task=names[place], solved=None, counts=Counter(kinds))
        for place, kinds in by_folder.items()
    ]


def published_sessions() -> list[Session]:
    """The published sessions; one solved its paper if all recorded functions of the paper pass."""
    solved = solved_papers()
    found = []
    for system, paper, counts in actions_of_sessions():
        merged: Counter[str] = Counter()
        for name, count in counts.items():
            merged[_OPENHANDS.get(name, "other")] += count
        found.append(Session(system=system, task=paper, solved=solved.get((system, paper)), counts=dict(+merged)))
    return found


def distributions(sessions: Iterable[Session]) -> list[Distribution]:
    """Of each system: all its sessions, those that solved their task, and those that did not."""
    groups: dict[tuple[str, str], list[Session]] = {}
    for item in sessions:
        outcome = {True: "solved", False: "not solved", None: "not known"}[item.solved]
        for name in ("all", outcome):
            groups.setdefault((item.system, name), []).append(item)
    return [_distribution(system, outcome, groups[system, outcome]) for system, outcome in sorted(groups)]


def contrasts(sessions: Iterable[Session], seed: int = 0) -> list[Contrast]:
    """For each system the permutation test of its sessions' shares against their outcomes. seed: of the permutations.

    Sessions without an action or without an outcome are left out.
    """
    systems: dict[str, list[Session]] = {}
    for item in sessions:
        systems.setdefault(item.system, [])
        if item.solved is not None and item.counts:
            systems[item.system].append(item)
    return [_contrast(system, items, seed) for system, items in sorted(systems.items())]


def _contrast(system: str, sessions: Sequence[Session], seed: int) -> Contrast:
    solved = np.array([bool(item.solved) for item in sessions], dtype=bool)
    count = int(solved.sum())
    if not 0 < count < len(solved):
        return Contrast(system=system, solved=count, unsolved=len(solved) - count, distance=None, p=None)
    shares = np.array([[item.counts.get(kind, 0) for kind in KINDS] for item in sessions], dtype=float)
    shares /= shares.sum(axis=1, keepdims=True)
    distance = _distance(shares, solved)
    generator = np.random.default_rng(seed)
    # Rounding must not make a permutation that changes nothing smaller than what was seen.
    as_far = sum(_distance(shares, generator.permutation(solved)) >= distance - 1e-12 for _ in range(DRAWS))
    return Contrast(
        system=system,
        solved=count,
        unsolved=len(solved) - count,
        distance=distance,
        p=(1 + as_far) / (1 + DRAWS),
    )


def _distance(shares: NDArray[np.float64], solved: NDArray[np.bool_]) -> float:
    return float(np.abs(shares[solved].mean(axis=0) - shares[~solved].mean(axis=0)).sum() / 2)


def _distribution(system: str, outcome: str, sessions: Sequence[Session]) -> Distribution:
    total: Counter[str] = Counter()
    for item in sessions:
        total.update(item.counts)
    count = total.total()
    shares = {kind: total[kind] / count for kind in KINDS} if count else {}
    return Distribution(system=system, outcome=outcome, sessions=len(sessions), actions=count, shares=shares)


def _kinds_of_messages(messages: Iterable[Any]) -> Iterator[str]:
    """One for each call of a tool, and one for each message of the assistant without any."""
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


def _event(file: Path) -> Any:
    try:
        return json.loads(read_plain(file))
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{file}: is not JSON: {error}") from error
