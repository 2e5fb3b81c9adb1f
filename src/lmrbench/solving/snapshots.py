"""Snapshots of a workspace: what holds the answer after each turn, read so that the agent can't tell.

A turn is a call of the model that succeeded, with what the agent did until the next one. Reading makes no event in the
transcript, runs no command in the sandbox, and counts as waiting. Snapshots stay in memory until the agent has ended
and are graded then (`scoring`): grading beside the agent would slow down its tools, whose time is limited.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from inspect_ai.log import Transcript, transcript
from inspect_ai.util import OutputLimitExceededError, SandboxEnvironment, sandbox, suspend_working_limit

from lmrbench.models.endings import turns
from lmrbench.tasks.collect import ANSWER
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import MAX_CODE_BYTES
from lmrbench.tasks.workspace import REPO

Files = dict[str, bytes]


@dataclass(frozen=True)
class Trace:
    """The snapshots of one sample: what was handed out, and what was there after which turn."""

    paths: tuple[str, ...]
    handed_out: Files
    after: dict[int, Files] = field(default_factory=dict)

    def changes(self, end: int) -> Iterator[tuple[int, Files]]:
        """The turns before turn `end` after which the files were not what they had been, and the files."""
        before = self.handed_out
        for turn, files in sorted(self.after.items()):
            if turn < end and files != before:
                yield turn, files
                before = files


# Solver and scorer of a sample run in separate contexts, and have its transcript in common.
_traces: WeakKeyDictionary[Transcript, Trace] = WeakKeyDictionary()


async def start_trace(task: Task) -> None:
    """From now on `take_snapshot` takes one of this sample's workspace."""
    paths = (*(f"{REPO}/{file}" for file in task.goal_files), ANSWER)
    _traces[transcript()] = Trace(paths, await _snapshot(paths))


async def take_snapshot() -> None:
    """Keep what the workspace holds after the last turn, if this sample is traced."""
    if trace := sample_trace():
        turn = len(turns(transcript().events))
        trace.after[turn] = await _snapshot(trace.paths)


def sample_trace() -> Trace | None:
    """The snapshots of this sample; None if it is not traced."""
    return _traces.get(transcript())


async def read_workspace(paths: Iterable[str]) -> Files:
    """Those of some files of the sample's workspace that can be read, unseen by transcript and agent."""
    # The sandbox itself, where `sandbox()` is one that records events.
    unseen = sandbox().as_type(SandboxEnvironment)  # type: ignore[type-abstract]
    files = {}
    for path in paths:
        try:
            files[path] = await unseen.read_file(path, text=False)
        except (OSError, UnicodeError, OutputLimitExceededError):
            continue
    return files


async def _snapshot(paths: Iterable[str]) -> Files:
    with suspend_working_limit():
        files = await read_workspace(paths)
    # One byte too many shows that a file is too large to be graded, and the rest would fill the memory.
    return {path: data[: MAX_CODE_BYTES + 1] for path, data in files.items()}
