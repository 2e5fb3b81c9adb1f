"""Records of suites, papers, tasks and targets, and the limits that apply to submissions.

A target is a function that a task masks: its body is removed, and a solver has to write it again. The reference is the
complete, correct repository. A task's check calls the targets and observes the results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, Self, get_args

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version
from pydantic import AfterValidator, Field, HttpUrl, StringConstraints, ValidationError, model_validator

from lmrbench.records import Record
from lmrbench.tasks.bounds import Bounds, Similarity, Tolerance
from lmrbench.tasks.dates import Day, first_day


def _stays_inside(text: str) -> str:
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise ValueError("must be a relative path that stays inside its folder")
    return str(path)


# The code that a solver gets: the masked repository, only its files with targets, or only the targets' signatures.
Inputs = Literal["full", "paper+file", "paper"]
# The form in which a solver gets the paper: the summary, the text of the PDF or of the LaTeX source, the pages
# of the PDF as JSON, or the PDF itself as a file of the workspace.
Form = Literal["summary", "pdf", "latex", "json", "pdf-file"]

# The kind of a task. The solver implements a function, implements all functions of a method, finds undocumented changes
# of a program (see tiers/forensic.py), or implements a function of an altered paper (see tiers/twin.py).
Tier = Literal["function", "method", "forensic", "twin"]
TIERS: tuple[Tier, ...] = get_args(Tier)

RelativePath = Annotated[str, AfterValidator(_stays_inside)]
# A relative path, or "" for no file.
PathOrNone = Annotated[str, AfterValidator(lambda text: text and _stays_inside(text))]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_]*$")]


class Target(Record):
    """A masked function, written like a pytest node id, such as `trainers.py::SimPOTrainer.simpo_loss`.

    Attributes:
        file: The path, in the repository, of the file that defines the function.
        qualname: The qualified name of the function.
    """

    file: RelativePath
    qualname: Annotated[str, StringConstraints(pattern=r"^[^\W\d]\w*(\.[^\W\d]\w*)*$")]

    @classmethod
    def parse(cls, text: str) -> Target:
        """Parse a text such as `file.py::Class.method`.

        Raises:
            ValueError: The text does not have this form.
        """
        file, separator, qualname = text.partition("::")
        try:
            if separator:
                return cls(file=file, qualname=qualname)
        except ValidationError:
            pass
        raise ValueError(f"{text!r} is not of the form 'file.py::function' or 'file.py::Class.method'")

    def __str__(self) -> str:
        """Return the target in the form that `parse` reads."""
        return f"{self.file}::{self.qualname}"


class Limits(Record):
    """Limits of one run of a check in a sandbox.

    Attributes:
        seconds: Maximum processor time of the whole check on the reference. A submission gets a multiple of the time
            that the reference took (see `CHECK_SLOWER`).
        memory_mb: Maximum memory, in addition to what the worker process uses before the check starts.
        processes: Maximum number of processes alive at the same time.
        output_mb: Maximum total size of the observations.
        disk_mb: Maximum total size of the files written.
        open_files: Maximum number of files open at the same time.
    """

    seconds: float = Field(default=60, gt=0)
    memory_mb: int = Field(default=2048, gt=0)
    processes: int = Field(default=32, gt=0)
    output_mb: int = Field(default=32, gt=0)
    disk_mb: int = Field(default=256, gt=0)
    open_files: int = Field(default=256, gt=0)


# Time limits of a submission, in processor time: a multiple of the reference's time and a minimum in seconds, for each
# case and for the whole check.
CASE_SLOWER, CASE_SECONDS = 10.0, 5.0
CHECK_SLOWER, CHECK_SECONDS = 5.0, 30.0
# The limit of wall-clock time, as a multiple of the limit of processor time.
WALL_FACTOR = 10

# The sentence about these limits that every instruction contains.
STATED_TIME_LIMITS = (
    f"Time limit: a case may take {CASE_SLOWER:.0f} times the processor time of the reference, and at least "
    f"{CASE_SECONDS:.0f} s; all cases together {CHECK_SLOWER:.0f} times, and at least {CHECK_SECONDS:.0f} s."
)


class Suite(Record):
    """A suite, as described by its `suite.toml`.

    Attributes:
        name: The name of the suite.
        version: Its version. Results under different versions are not comparable.
        categories: The title of each category, by its name. If empty, tasks may name any category.
        edition: The number of tasks of each category in the published benchmark that the suite is modelled on, read
            from the table `[published]`.
        suites: The suites that this one combines, if it has no papers of its own. Each is `core`, `real`, `live`, or a
            path relative to the folder of this suite.
    """

    name: Name
    version: str = Field(min_length=1)
    categories: dict[Name, str] = Field(default_factory=dict)
    edition: dict[Name, int] = Field(default_factory=dict, alias="published")
    suites: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return name and version."""
        return f"{self.name} {self.version}"


def _requirement(text: str) -> str:
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        raise ValueError(f"{text!r} is not a requirement in pip's syntax: {error}") from error
    if requirement.url is not None:
        raise ValueError(f"{text!r} is a URL; expected a package name, with a range of versions if needed")
    return text


def _version(text: str) -> str:
    try:
        Version(text)
    except InvalidVersion as error:
        raise ValueError(f"{text!r} is not a version; expected, for example, 1.2.0") from error
    return text


class Release(Record):
    """The first release of a package that contained the method of a paper.

    Attributes:
        package: The name of the package on PyPI.
        version: The version in which the method first appeared. The paper's tasks may be made from a later version.
        date: The date on which this version was uploaded.
    """

    package: Annotated[str, StringConstraints(pattern=r"^[\w.-]+$")]
    version: Annotated[str, AfterValidator(_version)]
    date: Day


class Paper(Record):
    """The publication that tasks are made from, as described by `[paper]` of task.toml.

    Attributes:
        slug: The short name of the paper, which is also the name of its folder.
        title: The title.
        year: The year of publication.
        venue: The conference or journal.
        url: The address of the paper.
        code: The address of the code that the authors published.
        published: The date of the paper's first version on arXiv, or else the date of the proceedings.
        released: The first release of a package that contains the method, or None if no package does.
        requirements: The packages that the paper's code needs, in pip's syntax. They must be installed with lmrbench or
            in an environment built for the paper (`lmrbench setup env build`).
    """

    slug: Name
    title: str = Field(min_length=1)
    year: int = Field(ge=1950, le=2100)
    venue: str = Field(min_length=1)
    url: HttpUrl
    code: HttpUrl | None = None
    published: Day | None = None
    released: Release | None = None
    requirements: tuple[Annotated[str, AfterValidator(_requirement)], ...] = ()

    @model_validator(mode="after")
    def _published_by_its_year(self) -> Self:
        if self.published and first_day(self.published).year > self.year:
            raise ValueError(f"published: {self.published} is later than the year of publication, {self.year}")
        return self

    @property
    def public_since(self) -> str | None:
        """The earliest date on which the method was public, in the paper or in a package; None if unknown."""
        known = [self.published, self.released.date if self.released else None]
        return min(filter(None, known), key=first_day, default=None)


@dataclass(frozen=True, eq=False)
class TaskFiles:
    """The files of a task, read when the task is loaded.

    The files are not read again later, so the task's digest covers exactly the bytes that are graded. Instances are
    compared by identity. The text of a file that the paper folder does not contain is "".

    Attributes:
        repository: The contents of the files in the reference repository, by path.
        check: The text of the check.
        summary: The summary of the paper, written for lmrbench in Markdown.
        rewrites: The code of each rewrite, another correct implementation, by name.
        wrong: The code of each wrong version, a plausible mistake, by name.
        equivalents: The text of `equivalent/<task>.toml` (see `loading.equivalents_file`).
        decided: The text of `decided/<task>.toml` (see `loading.decided_file`).
        deviations: The text of `deviations.toml`, the pool of changes that forensic tasks are made from.
        results: The metrics that the reference's experiment logged, as JSON; "" if a solver does not see them.
        shown: The contents of files that a solver sees unmasked and submits whole, by path. Forensic tasks have such
            files instead of targets.
        imports: The top-level imports that the task needs; None for all imports of the repository and the check.
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


@dataclass(frozen=True)
class DrawId:
    """The parameters of a draw, which determine the name of its forensic task.

    A draw chooses deviations, small changes of a program that the solver of the task has to find.

    Attributes:
        count: The number of deviations.
        seed: The seed that determines which deviations are drawn.
        entangled: Whether several deviations come from the same stage of the experiment, instead of one from each
            stage.
    """

    count: int
    seed: int
    entangled: bool = False

    def __str__(self) -> str:
        """Return the name of the task, such as `forensic_3_17` or `forensic_3_17_entangled`."""
        return f"forensic_{self.count}_{self.seed}{'_entangled' * self.entangled}"


class Draw(Record):
    """The deviations that were drawn from a paper's pool for one forensic task.

    Attributes:
        count: See `DrawId`.
        seed: See `DrawId`.
        entangled: See `DrawId`.
        attempt: The index of the first attempt that gave a fair draw: the changed program trains, and the deviations
            can be found from its logs (see `lmrbench.grading.forging`).
        deviations: The names of the deviations.
        witness: The number of runs after which a search that knows the pool finds the deviations; None if unknown.
    """

    count: int = Field(ge=1)
    seed: int = Field(ge=0, lt=2**31)
    entangled: bool = False
    attempt: int = Field(default=0, ge=0)
    deviations: tuple[Name, ...] = ()
    witness: int | None = None

    @property
    def id(self) -> DrawId:
        """The parameters of the draw, which determine the name of the task."""
        return DrawId(self.count, self.seed, self.entangled)


class TaskEntry(Record):
    """A task as defined by a `[[task]]` of task.toml.

    Attributes:
        name: The name of the task, unique within its paper.
        tier: The tier, `function` or `method`. Forensic tasks and twins are derived from other tasks.
        category: The name of the task's category, such as `decoding`.
        targets: The functions that are masked.
        instruction: What to implement, in Markdown.
        context: The files that the prompt shows in addition to the files with targets.
        only_logs: Facts about a method that only its logged results reveal. Prompts state them, because nothing can be
            run in the prompt setting.
        check: The file with `cases(seed)` and `observe(case)`; "" for a task that cannot be graded.
        imports: The top-level imports that the targets and the check need. If None, they are those that `[source]`
            lists or, without a source, all imports of the repository and the check.
        tolerance: The tolerance of floats in observations.
        tolerances: Tolerances for individual top-level keys of the observations.
        similarities: How similar texts must be, for individual top-level keys of the observations.
        limits: The limits of a run of the check.
    """

    name: Name
    tier: Tier = "function"
    category: Name
    targets: tuple[Target, ...] = Field(min_length=1)
    instruction: str = Field(min_length=1)
    context: tuple[RelativePath, ...] = ()
    only_logs: tuple[str, ...] = ()
    check: PathOrNone
    imports: tuple[str, ...] | None = None
    tolerance: Tolerance = Tolerance()
    tolerances: dict[str, Tolerance] = Field(default_factory=dict)
    similarities: dict[str, Similarity] = Field(default_factory=dict)
    limits: Limits = Limits()


class Task(TaskEntry):
    """A `TaskEntry` together with its paper, its suite and its files, ready to be solved and graded.

    Attributes:
        targets: The functions that are masked; empty if files are submitted whole.
        suite: The suite, if its folder has a suite.toml.
        paper: The paper.
        folder: The paper folder, to which audits write their certificates.
        files: The files of the task.
        siblings: The targets of the paper's other tasks of this tier. They are masked too.
        twin_of: The id of the original task of a twin; "" for other tasks.
        draw: The draw of a forensic task; None for other tasks.
        beside: The ids of all tasks in the paper's task.toml, by tier. They are needed for warnings, because the
            workspace of a task in one tier may contain the answers to tasks of another tier.
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
        """The ids of the paper's tasks of other tiers, with `PAPER/forensic_*` for all forensic tasks."""
        listed = [name for tier, names in self.beside.items() if tier != self.tier for name in names]
        drawn = [f"{self.paper.slug}/forensic_*"] if self.files.deviations and self.tier != "forensic" else []
        return (*listed, *drawn)

    @property
    def id(self) -> str:
        """The id, such as `dpo/preference_loss`."""
        return f"{self.paper.slug}/{self.name}"

    @property
    def bounds(self) -> Bounds:
        """The allowed differences between a submission's observations and the reference's."""
        return Bounds(self.tolerance, self.tolerances, self.similarities)

    @property
    def goal_files(self) -> tuple[str, ...]:
        """The paths of the files that make up a submission: those with targets, and those that are submitted whole."""
        return tuple(dict.fromkeys([*(target.file for target in self.targets), *self.files.shown]))
