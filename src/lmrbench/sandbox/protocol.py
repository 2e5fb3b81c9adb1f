"""The protocol of sandboxes: jobs, their outcomes, and the back ends, workers and pools that run them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from lmrbench.tasks.model import Limits

# The first back end that works on this machine; see `registry.sandbox_name`.
DEFAULT_SANDBOX = "auto"
CaseStatus = Literal["observed", "raised", "timeout", "died", "missing"]


@dataclass(frozen=True)
class Cases:
    """Drawn cases: inputs that a check has generated from a seed, one for each call of `observe`.

    Attributes:
        names: The name of each case. The number of a case is its index here.
        data: All cases, as `inside.cases.encode_cases` wrote them.
        edge: The numbers of the edge cases; the others are ordinary.
    """

    names: tuple[str, ...]
    data: bytes
    edge: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Job:
    """One unit of work for a worker: run `observe` on some cases in one repository.

    Time limits are processor seconds over all processes of the job. In wall-clock time, the job may take `WALL_FACTOR`
    times as long (`lmrbench.tasks.model`).

    Attributes:
        owner: Whose code the job runs, for example that of one system. Jobs of different owners never share a worker,
            except in a pool that runs only code that comes with the suite.
        files: The repository: the content of each file, by path.
        observe: The source of a module that defines `observe`; see `lmrbench.tasks.checks`.
        cases: The cases to call `observe` with.
        limits: The limits on everything but time.
        check_seconds: The time limit of all cases together.
        case_seconds: The time limit of each case that is observed; None if single cases have no limit, as for a
            reference.
        random_seed: The seed for random, numpy and torch, set before each case.
        numbers: The numbers of the cases to observe, in this order; None for all.
        imports: The installed packages that the repository and the check import. The job sees these and their
            requirements.
        ends_with: A callback that gets the index of a case in `observed`, and its outcome, as soon as the outcome
            arrives. If it returns True, the job may stop early, and the remaining cases are `missing`.
        environment: The folder of packages (`lmrbench.sandbox.venvs.environment_of`) that the imports come from; None
            for the installation of lmrbench.
        confirmed: Whether a case that times out, or that is killed from outside, runs once more before it counts.
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
        """The numbers of the cases to observe, in their order."""
        return tuple(range(len(self.cases.names))) if self.numbers is None else self.numbers


@dataclass(frozen=True)
class CaseOutcome:
    """The outcome of one case.

    Attributes:
        status: Whether the case was observed, and if not, why.
        payload: The observation, as `inside.encoding.encode` wrote it; empty unless it was observed.
        message: The reason, if it was not observed.
        seconds: Processor seconds.
        seconds_by_clock: Wall-clock seconds.
    """

    status: CaseStatus
    payload: bytes = b""
    message: str = ""
    seconds: float = 0.0
    seconds_by_clock: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """The outcome of one job.

    A candidate can forge everything except `lost`, `fault`, `peak_mb` and the seconds.

    Attributes:
        cases: The outcome of each case that was to be observed.
        broken: Why `observe` could not be loaded; None if it could.
        lost: Whether the worker ended during the job.
        fault: The error that ended the job before any code of the candidate ran; empty if there was none.
        log: The end of the printed output.
        seconds: Wall-clock seconds, as measured by the host.
        processor_seconds: Processor seconds of all processes, counted from the moment when the candidate could start.
        peak_mb: The most memory that a process of the job held, in megabytes.
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
    """A started worker. The pool gives it the jobs of one owner, one after the other.

    A worker need not run on this machine. A back end with remote workers must have lmrbench installed on the remote
    host, call `make_sandbox` there with the folders to hide, and read its own settings, such as the host's address,
    from environment variables.
    """

    @property
    def alive(self) -> bool:
        """Whether the worker can take another job."""
        ...

    def run(self, job: Job) -> Outcome:
        """Run one job to its end, whatever the candidate does.

        Returns:
            An outcome with every case that was to be observed. If the worker is lost during the job, `lost` is set, and
            the case that was running has the status `died`. If the job ends before any code of the candidate has run,
            `fault` says why. In both cases, the pool runs the job once more in a fresh worker. If that fails at the
            start, the pool runs a trivial check (`lmrbench.sandbox.probe`) to find out whether the candidate or the
            machine was at fault.

        Raises:
            SandboxError: The failure was caused by the machine or the host, not by the candidate, so it must not affect
                any score.
        """
        ...

    def kill(self) -> None:
        """End the worker at once, so that its job is lost. May be called from any thread."""
        ...

    def close(self) -> None:
        """End the worker and all that it runs, and release its resources. May be called twice."""
        ...


class Sandbox(Protocol):
    """A back end, which starts workers that keep untrusted code from doing harm.

    Its class is called with the folders that no worker may see, such as the suite's.

    Attributes:
        name: The name of the back end in `--sandbox` and in grades.
        advice: Advice to the user if the back end does not work.
        note: If the back end works, its restrictions on this machine, for example because of an old kernel.
    """

    name: str
    advice: str
    note: str = ""

    def start(self, imports: Sequence[str], tree: Path | None = None, environment: Path | None = None) -> Worker:
        """Start a worker. It is used and closed by the thread that starts it; only `kill` is called from others.

        Args:
            imports: The packages that the worker can import.
            tree: The folder that `lmrbench.sandbox.trees.tree_of` returned, the same for all jobs of the worker. A back
                end that can show it to the worker sends only the other files (`lmrbench.sandbox.trees.sent`); any other
                back end sends all files.
            environment: The folder that the packages come from; None for the installation of lmrbench.

        Raises:
            SandboxError: No worker can be started.
        """
        ...

    def close(self) -> None:
        """End everything that the back end has started besides workers. Called when all workers are closed."""
        return


@dataclass(frozen=True)
class Executor:
    """The place where jobs run.

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
            The number of each job and its outcome, in the order in which jobs end.

        Raises:
            SandboxError: The machine or the cluster fails, or the pool is closed during the call.
        """
        ...
