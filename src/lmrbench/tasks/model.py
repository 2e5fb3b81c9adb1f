"""What is a paper, a task, a target? Frozen records; unknown keys are refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, get_args

from packaging.requirements import InvalidRequirement, Requirement
from pydantic import AfterValidator, Field, HttpUrl, StringConstraints, ValidationError

from lmrbench.records import Record


def _stays_inside(text: str) -> str:
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise ValueError("must be a relative path that stays inside its folder")
    return str(path)


# How much a solver sees: the masked repository, its goal files only, or no code but the signatures.
Inputs = Literal["full", "paper+file", "paper"]

# What is asked: one function; all that carry a method; the changes that a program's logs hold; or the function of an
# altered paper.
Tier = Literal["function", "method", "forensic", "twin"]
TIERS: tuple[Tier, ...] = get_args(Tier)

RelativePath = Annotated[str, AfterValidator(_stays_inside)]
# Empty where there is no such file.
PathOrNone = Annotated[str, AfterValidator(lambda text: text and _stays_inside(text))]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_]*$")]


class Target(Record):
    """One masked function, named as pytest names nodes: `trainers.py::SimPOTrainer.simpo_loss`."""

    file: RelativePath
    qualname: Annotated[str, StringConstraints(pattern=r"^[^\W\d]\w*(\.[^\W\d]\w*)*$")]

    @classmethod
    def parse(cls, text: str) -> Target:
        """Split `file.py::Class.method`. Raises ValueError, in one line, for a text of another form."""
        file, separator, qualname = text.partition("::")
        try:
            if separator:
                return cls(file=file, qualname=qualname)
        except ValidationError:
            pass
        raise ValueError(f"{text!r} is not of the form 'file.py::function' or 'file.py::Class.method'")

    def __str__(self) -> str:
        return f"{self.file}::{self.qualname}"


class Tolerance(Record):
    """Floats a (observed) and b (golden) agree when |a - b| <= atol + rtol * |b|."""

    rtol: float = Field(default=1e-5, ge=0, lt=1)
    atol: float = Field(default=1e-6, ge=0)


class Limits(Record):
    """What one run of a check may use, in a sandbox.

    seconds: processor time of the whole check on the golden; a candidate gets multiples of what the golden took.
    memory_mb: memory on top of what the warm worker already holds. The rest bounds the processes alive at once,
    the observations sent out, the files written and the files open.
    """

    seconds: float = Field(default=60, gt=0)
    memory_mb: int = Field(default=2048, gt=0)
    processes: int = Field(default=32, gt=0)
    output_mb: int = Field(default=32, gt=0)
    disk_mb: int = Field(default=256, gt=0)
    open_files: int = Field(default=256, gt=0)


class Suite(Record):
    """`suite.toml`: what a suite is called, its version, and its categories, each with a title for people.

    A change of the version says that results before and after it are not to be compared. Without categories any name
    is one. published: how many tasks each category has in the edition that the suite follows. suites: what it is made
    of where it holds no papers of its own: `core`, `real`, or other folders, relative to its own.
    """

    name: Name
    version: str = Field(min_length=1)
    categories: dict[Name, str] = Field(default_factory=dict)
    published: dict[Name, int] = Field(default_factory=dict)
    suites: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def _requirement(text: str) -> str:
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        raise ValueError(f"{text!r} is no requirement as pip reads it: {error}") from error
    if requirement.url is not None:
        raise ValueError(f"{text!r} names an address; expected a package and its versions")
    return text


class Paper(Record):
    """The facts of one paper, as in `[paper]` of task.toml.

    requirements: the packages that its code needs, as pip reads them, with bounds. They are met by lmrbench's own
    installation, or by an environment of their own; who names none takes what is installed.
    """

    slug: Name
    title: str = Field(min_length=1)
    year: int = Field(ge=1950, le=2100)
    venue: str = Field(min_length=1)
    url: HttpUrl
    code: HttpUrl | None = None
    requirements: tuple[Annotated[str, AfterValidator(_requirement)], ...] = ()


@dataclass(frozen=True, eq=False)
class TaskFiles:
    """What a paper's folder held for one task when the task was loaded. Nothing of a task is read from the disk later.

    So a digest of a task names exactly the bytes that are graded. Two snapshots are never equal: they are compared by
    identity.

    repository: the golden, by path. check: its text; empty if there is none. summary: ours, of the paper, in Markdown.
    rewrites, wrong: the code of each version, by name. equivalents: the text of the file that declares mutants
    equivalent; empty if there is none. decided: the text of the file that says which sentence decides which mutants;
    empty if there is none. deviations: the text of the file with the paper's pool of them; empty if there is none.
    results: what the golden's experiment logged, as JSON, where a solver sees it; empty elsewhere. shown: goal files
    that a solver sees as they are here, and hands in whole. imports: the top-level imports that are needed, where the
    task or the source says so; None where the repository tells.
    """

    repository: Mapping[str, bytes]
    check: str
    summary: str
    rewrites: Mapping[str, str] = field(default_factory=dict)
    wrong: Mapping[str, str] = field(default_factory=dict)
    equivalents: str = ""
    decided: str = ""
    deviations: str = ""
    results: str = ""
    shown: Mapping[str, bytes] = field(default_factory=dict)
    imports: tuple[str, ...] | None = None


class Draw(Record):
    """Some deviations of a paper's pool, by name: those of a number, a seed and an attempt.

    attempt: the first, counted from 0, whose draw is fair. separable: the share of the deviations each of which, alone,
    gives some metric the value that all of them together give it.
    """

    count: int = Field(ge=1)
    seed: int = Field(ge=0, lt=2**31)
    attempt: int = Field(ge=0)
    deviations: tuple[Name, ...] = ()
    separable: float | None = None


class TaskEntry(Record):
    """One `[[task]]` of task.toml.

    tier: forensic tasks and twins are made of others, and stand in files of their own. targets: the functions that are
    masked. context: the files that standard prompting shows beside the goal file.
    check: the file with `cases(seed)` and `observe(case)`; "" for a task that can be read and answered, but not graded.
    tolerances: overrides of `tolerance` for one top-level key of the observations. imports: the top-level imports that
    the targets and the check need; None where that is all that the repository names.
    """

    name: Name
    tier: Tier = "function"
    category: Name
    targets: tuple[Target, ...] = Field(min_length=1)
    instruction: str = Field(min_length=1)
    context: tuple[RelativePath, ...] = ()
    check: PathOrNone
    imports: tuple[str, ...] | None = None
    tolerance: Tolerance = Tolerance()
    tolerances: dict[str, Tolerance] = Field(default_factory=dict)
    limits: Limits = Limits()


class Task(TaskEntry):
    """A task as it was loaded: its entry, its paper, and its files.

    folder: where it was loaded from; what an audit finds is written there. suite: None for one without a suite.toml.
    targets: none where files are handed in whole. twin_of: the id of the task of which this is a twin; "" for others.
    draw: what was changed, of a forensic task.
    siblings: the targets of the paper's other tasks of this tier, which a solver of this one must not see either.
    beside: the ids of the paper's listed tasks by tier; what a solver sees of one tier may answer those of another.
    """

    targets: tuple[Target, ...] = ()
    suite: Suite | None = None
    paper: Paper
    folder: Path
    files: TaskFiles = Field(repr=False)
    siblings: tuple[Target, ...] = ()
    twin_of: str = ""
    draw: Draw | None = None
    beside: dict[Tier, tuple[str, ...]] = Field(default_factory=dict)

    @property
    def other_tiers(self) -> tuple[str, ...]:
        """The ids of the paper's tasks of other tiers; `PAPER/forensic_*` stands for those that can be drawn."""
        listed = [name for tier, names in self.beside.items() if tier != self.tier for name in names]
        drawn = [f"{self.paper.slug}/forensic_*"] if self.files.deviations and self.tier != "forensic" else []
        return (*listed, *drawn)

    @property
    def id(self) -> str:
        """`dpo/preference_loss`."""
        return f"{self.paper.slug}/{self.name}"

    @property
    def goal_files(self) -> tuple[str, ...]:
        """The files that an answer is taken from, each once: those that hold a target, or are handed in whole."""
        return tuple(dict.fromkeys([*(target.file for target in self.targets), *self.files.shown]))
