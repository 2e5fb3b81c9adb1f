"""Snapshots of the answer in a workspace after each turn, taken without the agent's knowledge.

A turn is a successful model call, with the agent's actions until the next call. Taking a snapshot adds no event to the
transcript, runs no command in the sandbox, and does not count towards the limit on the agent's working time. Snapshots
are kept in memory, and `scoring` grades them when the agent has ended. Grading them earlier would slow down the agent's
tools, which have time limits.
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
    """The snapshots of one sample.

    Attributes:
        paths: the files that snapshots contain.
        handed_out: the files before the first turn, as the agent received them.
        after: the files after each turn, by the number of the turn.
    """

    paths: tuple[str, ...]
    handed_out: Files
    after: dict[int, Files] = field(default_factory=dict)

    def changes(self, end: int) -> Iterator[tuple[int, Files]]:
        """Yield the turns before turn `end` that changed the files, with the files after each of them."""
        before = self.handed_out
        for turn, files in sorted(self.after.items()):
            if turn < end and files != before:
                yield turn, files
                before = files


# A sample's solver and scorer run in separate contexts but share its transcript.
_traces: WeakKeyDictionary[Transcript, Trace] = WeakKeyDictionary()


async def start_trace(task: Task) -> None:
    """Start tracing this sample: from now on, `take_snapshot` stores the files that an answer consists of."""
    paths = (*(f"{REPO}/{file}" for file in task.goal_files), ANSWER)
    _traces[transcript()] = Trace(paths, await _snapshot(paths))


async def take_snapshot() -> None:
    """Take a snapshot of the workspace after the last turn, if this sample is traced."""
    if trace := sample_trace():
        turn = len(turns(transcript().events))
        trace.after[turn] = await _snapshot(trace.paths)


def sample_trace() -> Trace | None:
    """Return the snapshots of this sample, or None if it is not traced."""
    return _traces.get(transcript())


async def read_workspace(paths: Iterable[str]) -> Files:
    """Read files of the sample's workspace without recording an event in the transcript.

    Args:
        paths: the files; those that can't be read are left out of the result.
    """
    # `sandbox()` is a proxy that records events. The environment behind the proxy does not.
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
    # One byte more than allowed is enough to show that a file is too large. The rest is dropped to save memory.
    return {path: data[: MAX_CODE_BYTES + 1] for path, data in files.items()}
