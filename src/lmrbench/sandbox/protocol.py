"""What is asked of a sandbox, what comes back, and what a back end must do: start workers that run jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from lmrbench.tasks.model import Limits

DEFAULT_SANDBOX = "bubblewrap"
CaseStatus = Literal["observed", "raised", "timeout", "died", "missing"]


@dataclass(frozen=True)
class Cases:
    """Drawn cases: the name of each, and all of them as `inside.cases.encode_cases` wrote them."""

    names: tuple[str, ...]
    data: bytes


@dataclass(frozen=True)
class Job:
    """Drawn cases to observe over one repository.

    Limits on time are processor seconds over all processes of the job; by the clock it may take `WALL_FACTOR` times as
    long (`lmrbench.tasks.model`).

    Attributes:
        owner: whose code this is; a worker never serves two owners, unless all code comes with the suite.
        files: the repository, by path.
        observe: the text of a module that defines `observe`, of `lmrbench.tasks.checks`.
        cases: what `observe` is called with.
        limits: what the job may use beside time.
        check_seconds: for all cases together.
        case_seconds: for each case that is observed; None while it is not known.
        random_seed: what random, numpy and torch are seeded with before each case.
        numbers: which cases are observed, and in which order; all of them if None.
        imports: the installed packages that repository and check import; the job sees these, with what they require,
            and no others.
        ends_with: told of the place of each case and its outcome as they come; where it says so, the job may end, and
            the cases that are left are missing.
        environment: of `lmrbench.sandbox.venvs.environment_of`, whose packages these are; None for lmrbench's
            own.
        confirmed: whether a case that times out, or that something outside kills, is run once more before it counts.
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
        """The numbers of the cases that are observed, in their order."""
        return tuple(range(len(self.cases.names))) if self.numbers is None else self.numbers


@dataclass(frozen=True)
class CaseOutcome:
    """What became of one case: an observation if it was observed, otherwise a message.

    payload: of `inside.encoding.encode`. seconds: of the processor. seconds_by_clock: what passed meanwhile.
    """

    status: CaseStatus
    payload: bytes = b""
    message: str = ""
    seconds: float = 0.0
    seconds_by_clock: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """What became of one job. Everything but `lost`, `fault`, `peak_mb` and the seconds may be the candidate's word.

    Attributes:
        cases: one for each case that was to be observed.
        broken: why `observe` could not be loaded; None if it could.
        lost: the worker ended during the job.
        fault: what ended the job before any code of the candidate ran; empty if nothing did.
        log: the end of what was printed.
        seconds: by the clock, as the host saw it.
        processor_seconds: of all processes, from when the candidate could start.
        peak_mb: the most memory that a process of the job held.
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
    """A started worker, for the jobs of one owner, one after the other; the pool sees to that.

    It need not be a process of this machine. On another host, drive one of that host's own back ends: install lmrbench
    there, and call `make_sandbox` with what must be hidden there. Settings, such as the host's address, come from
    environment variables of your own.
    """

    @property
    def alive(self) -> bool:
        """Whether it can take another job."""
        ...

    def run(self, job: Job) -> Outcome:
        """Run one job to its end, whatever the candidate does.

        The outcome has a case for each that was to be observed. Where the worker was lost during the job it says so,
        with a case of status `died`, and with `fault` where no code of the candidate had run; the pool then runs the
        job once more in a fresh worker, and asks a probe whose doing it was. Raises SandboxError where the fault is
        certainly the machine's or the host's, so that nobody's score changes.
        """
        ...

    def kill(self) -> None:
        """End it at once, from any thread; a job that it runs comes back as lost."""
        ...

    def close(self) -> None:
        """End the worker and all that it runs, and give back what it holds; safe to call twice."""
        ...


class Sandbox(Protocol):
    """A back end: a way to start workers so that what they run can do no harm.

    name: as `--sandbox` and every grade name it. advice: what to do where it does not work. It is made with the folders
    that no worker may see, such as the suite's.
    """

    name: str
    advice: str

    def start(self, imports: Sequence[str], tree: Path | None = None, environment: Path | None = None) -> Worker:
        """Start a worker that can import these packages. Raises SandboxError where that can't be done.

        environment: the folder of packages that they are taken from; None for those that lmrbench is installed with.

        tree: of `lmrbench.sandbox.trees.tree_of`, the same for all jobs of the worker, which needs to be sent the other
        files alone (`sent`). Who can't show it may send them all.

        A worker is used and closed by the thread that starts it; only `kill` comes from another.
        """
        ...


@dataclass(frozen=True)
class Executor:
    """Where jobs run: on this machine, or on the Ray cluster at an address (see `ClusterPool` for None)."""

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
        """Run all jobs; yields the number of each with its outcome, in the order in which they end.

        Raises SandboxError where the machine or the cluster fails, and where the pool is closed meanwhile.
        """
        ...
