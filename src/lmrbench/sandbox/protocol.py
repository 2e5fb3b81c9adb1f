"""The protocol of sandboxes: jobs, their outcomes, and the back ends, workers and pools that run them.

A job runs a task's check on a candidate, the code to grade. A check draws cases (inputs) and has a function `observe`,
which calls the candidate with one case and returns the observation (the result). A back end is a way to isolate code,
such as bubblewrap or docker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from lmrbench.tasks.model import Limits

# `auto` stands for the first back end that works on this machine; see `registry.sandbox_name`.
DEFAULT_SANDBOX = "auto"
CaseStatus = Literal["observed", "raised", "timeout", "died", "missing"]


@dataclass(frozen=True)
class Cases:
    """Drawn cases: inputs that a check has generated from a seed, one for each call of `observe`.

    Attributes:
        names: The name of each case. The number of a case is its index here.
        data: All cases, encoded by `inside.cases.encode_cases`.
        edge: The numbers of the edge cases. An answer may fail them and still count as correct. All other cases are
            ordinary.
    """

    names: tuple[str, ...]
    data: bytes
    edge: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Job:
    """One unit of work for a worker: run `observe` on some cases in one repository.

    Time limits are in processor seconds, added up over all processes of the job. The limits of wall-clock time are
    `lmrbench.tasks.model.WALL_FACTOR` times as long.

    Attributes:
        owner: The author of the code that the job runs, for example a system. Jobs of different owners never share a
            worker, except in a pool that runs only code that comes with the suite.
        files: The contents of the repository's files, by path.
        observe: The source code of a module that defines `observe`; see `lmrbench.tasks.checks`.
        cases: The drawn cases, which are passed to `observe` one at a time.
        limits: The limits on memory, processes, output and files.
        check_seconds: The time limit for all cases together.
        case_seconds: The time limit for each case in `observed`, in the same order; None if only the whole job has a
            limit, for example when the reference solution runs.
        random_seed: The seed for random, numpy and torch, set before each case.
        numbers: The numbers of the cases to observe, in this order; None for all cases.
        imports: The installed packages that the repository and the check import. The job sees these and their
            requirements.
        ends_with: A callback that is called as soon as the outcome of a case arrives, with the index of the case in
            `observed` and the outcome. If it returns True, the job may stop early, and the remaining cases are
            `missing`.
        environment: The folder that contains the packages, as `lmrbench.sandbox.venvs.environment_of` returns it; None
            for the installation of lmrbench.
        confirmed: Whether to run a case a second time if it times out or is killed from outside lmrbench, for example
            by the kernel. The second outcome then counts.
    """

    owner: str
    files: Mapping[str, bytes]
    observe: str
    cases: Cases
    limits: Limits
    check_seconds: float
    case_seconds: Sequence[float] | None = None
    random_seed: int = 0
    numbers: tuple[int, ...] | None = None
    imports: tuple[str, ...] = ()
    ends_with: Callable[[int, CaseOutcome], bool] | None = None
    environment: Path | None = None
    confirmed: bool = True

    @property
    def observed(self) -> tuple[int, ...]:
        """The numbers of the cases to observe, in the order in which they run."""
        return tuple(range(len(self.cases.names))) if self.numbers is None else self.numbers


@dataclass(frozen=True)
class CaseOutcome:
    """The outcome of one case.

    Attributes:
        status: `observed` if there is an observation; `raised` if the code raised an exception; `timeout` if
            the case exceeded a time limit; `died` if the process ended or exceeded another limit; `missing` if the case
            did not run.
        payload: The observation, encoded by `inside.encoding.encode`; empty unless the status is `observed`.
        message: Details of the failure; empty if the case was observed or did not run.
        seconds: The processor seconds that an observed case took.
        seconds_by_clock: The wall-clock seconds that an observed case took.
    """

    status: CaseStatus
    payload: bytes = b""
    message: str = ""
    seconds: float = 0.0
    seconds_by_clock: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """The outcome of one job.

    A candidate can forge everything except `lost`, `fault`, `seconds`, `processor_seconds` and `peak_mb`.

    Attributes:
        cases: The outcome of each case in `Job.observed`, in the same order.
        broken: The error that kept `observe` from being loaded; None if there was none.
        lost: Whether the worker was lost during the job, because it ended, hung or sent an invalid answer.
        fault: The error that ended the job before any code of the candidate ran; empty if there was none.
        log: The end of the output that the job printed.
        seconds: Wall-clock seconds, as measured by the host.
        processor_seconds: Processor seconds of all processes of the job, counted from the moment at which code of the
            candidate could first run.
        peak_mb: The peak resident memory of any process of the job, in megabytes.
    """

    cases: tuple[CaseOutcome, ...] = ()
    broken: str | None = None
    lost: bool = False
    fault: str = ""
    log: str = ""
    seconds: float = 0.0
    processor_seconds: float = 0.0
    peak_mb: float = 0.0


class Worker(Protocol):
    """A started worker, to which a pool gives the jobs of one owner, one at a time.

    A worker need not run on this machine. A back end with remote workers needs an installation of lmrbench on the
    remote host, and calls `make_sandbox` there with the folders to hide. The back end reads its own settings, such as
    the host's address, from environment variables.
    """

    @property
    def alive(self) -> bool:
        """Whether the worker can take another job."""
        ...

    def run(self, job: Job) -> Outcome:
        """Run one job to its end, whatever the candidate does.

        Returns:
            An outcome with an entry for every case in `job.observed`. If the worker is lost during the job, `lost` is
            set, and the case that was running has the status `died`. If the job ends before any code of the candidate
            has run, `fault` contains the reason. In both cases, the pool runs the job once more in a fresh worker. If
            the rerun also sets `fault`, or the candidate dies in its first case, the pool runs a trivial check
            (`lmrbench.sandbox.probe`) to find out whether the candidate or the machine is at fault.

        Raises:
            SandboxError: The machine or the host failed, not the candidate, so the failure must not affect any score.
        """
        ...

    def kill(self) -> None:
        """Kill the worker immediately; the job that it is running is lost. May be called from any thread."""
        ...

    def close(self) -> None:
        """End the worker and all its processes, and release its resources. May be called more than once."""
        ...


class Sandbox(Protocol):
    """A back end, which starts isolated workers for untrusted code.

    lmrbench calls the class with one argument: the folders to hide from all workers, such as the suite's folder.

    Attributes:
        name: The name of the back end in `--sandbox` and in grades.
        advice: Advice to the user if the back end does not work.
        note: Limitations of the back end on this machine, for example those of an old kernel. Shown only if the back
            end works.
    """

    name: str
    advice: str
    note: str = ""

    def start(self, imports: Sequence[str], tree: Path | None = None, environment: Path | None = None) -> Worker:
        """Start a worker. The calling thread also uses and closes it; other threads call only its `kill`.

        Args:
            imports: The packages that the worker can import.
            tree: A folder with files of the repository, as `lmrbench.sandbox.trees.tree_of` returns it; the same for
                all jobs of the worker. A back end that can show this folder to the worker sends only the files that are
                not in it (`lmrbench.sandbox.trees.sent`). Any other back end sends all files.
            environment: The folder that contains the packages; None for the installation of lmrbench.

        Raises:
            SandboxError: The worker can't be started.
        """
        ...

    def close(self) -> None:
        """End everything else that the back end has started, such as processes from which workers are forked.

        Called after all workers are closed.
        """
        return


@dataclass(frozen=True)
class Executor:
    """The machine or cluster that runs the jobs.

    Attributes:
        kind: `local` for this machine, `ray` for a Ray cluster.
        address: The address of the cluster; None for the default of `ClusterPool`.
    """

    kind: Literal["local", "ray"] = "local"
    address: str | None = None


LOCAL = Executor()


class WorkerPool(Protocol):
    """Warm workers of one back end, on this machine (`LocalPool`) or on the nodes of a cluster (`ClusterPool`)."""

    @property
    def sandbox(self) -> Sandbox:
        """The back end."""
        ...

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[int, Outcome]]:
        """Run all jobs.

        Yields:
            The index of each job in `jobs` and its outcome, in the order in which the jobs end.

        Raises:
            SandboxError: The machine or the cluster fails, or the pool is closed during the call.
        """
        ...
