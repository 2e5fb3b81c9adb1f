"""What is asked of a sandbox, what comes back, and the one thing a back end must do: start a worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from typing import Literal, Protocol

from lmrbench.sandbox.cgroup import Group
from lmrbench.tasks.model import Limits

Status = Literal["observed", "raised", "timeout", "died", "missing"]


@dataclass(frozen=True)
class Job:
    """One check over one repository.

    owner: whose code this is; a worker never serves two owners. case_seconds: wall time for each case, or None while it
    is not known. task_seconds: wall time for all cases together. imports: the installed packages that repository and
    check import; the job sees these, with what they require, and no others.
    """

    owner: str
    files: Mapping[str, bytes]
    check: str
    seed: int
    limits: Limits
    task_seconds: float
    case_seconds: Sequence[float] | None = None
    imports: tuple[str, ...] = ()


@dataclass(frozen=True)
class CaseOutcome:
    """What became of one case: an encoded observation if it was observed, otherwise a message."""

    status: Status
    payload: bytes = b""
    message: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """What became of one job. Everything but `lost`, `peak_mb` and `seconds` may be the candidate's word.

    broken: why the check could not be loaded or its cases not be drawn; None if they could. log: the end of what was
    printed. lost: the worker ended during the job.
    """

    names: tuple[str, ...] = ()
    cases: tuple[CaseOutcome, ...] = ()
    broken: str | None = None
    lost: bool = False
    log: str = ""
    seconds: float = 0.0
    peak_mb: float = 0.0


@dataclass(frozen=True)
class LaunchedWorker:
    """A started worker: its process, the folder to remove when it is gone, and the cgroup around it."""

    process: Popen[bytes]
    scratch: Path | None = None
    group: Group | None = None


class Sandbox(Protocol):
    """A back end: a way to start the worker program so that what it runs can do no harm."""

    name: str

    def launch(self, imports: Sequence[str]) -> LaunchedWorker:
        """Start a worker that can import these packages. Raises SandboxError where that can't be done."""
        ...
