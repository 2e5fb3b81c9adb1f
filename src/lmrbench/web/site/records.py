"""The records of `data.json`, which contain everything that a site shows."""

from __future__ import annotations

from pydantic import JsonValue

from lmrbench.records import SCHEMA, Record
from lmrbench.report.horizon import Horizon
from lmrbench.report.measures.attempts import Attempts
from lmrbench.report.measures.comparison import Comparison
from lmrbench.report.measures.effort import Effort
from lmrbench.report.measures.rates import Rate
from lmrbench.runs.records import AnswerStatus
from lmrbench.runs.verify import Verification
from lmrbench.version import __version__


class RunInfo(Record):
    """The information about a run that a site shows.

    Attributes:
        number: The number by which pages and boards refer to the run.
        updated: The time of the last grade in the run folder, in UTC.
        made_here: The number of grades that were made by the same installation as the site.
        seeds: The seeds of the grades; empty if they are kept secret.
        verification: The result of verifying the run's pack (one file with its answers and claimed grades) by grading
            the answers again; None if the run was not verified.
    """

    number: int
    name: str
    updated: str
    systems: tuple[str, ...]
    answers: int
    passes: int
    made_here: int
    lmrbench: str
    suite: str
    suite_digest: str
    sandbox: str
    seeds: tuple[int, ...]
    fresh_seeds: bool
    fail_fast: bool
    environment: dict[str, str]
    settings: dict[str, JsonValue] | None
    verification: Verification | None


class Standing(Record):
    """The results of one system on one board.

    Attributes:
        attempts: The estimates of pass@k and pass^k, by ascending k.
        horizon: For forensic tasks, the number of changes at which the system solves half of the tasks; otherwise None.
        effort: The cost per correct answer; None if no usage was recorded.
        months: The rate over the tasks that became public in a month, for each month in ascending order; tasks without
            a date are left out.
    """

    system: str
    page: str
    run: int
    verified: bool
    rate: Rate
    attempts: tuple[Attempts, ...]
    horizon: Horizon | None
    effort: Effort | None
    categories: dict[str, Rate]
    months: dict[str, Rate]
    endings: dict[AnswerStatus, int]


class BoardCell(Record):
    """The answers of one system to one task."""

    task: str
    system: str
    passes: int
    answers: int
    unanswered: int


class Board(Record):
    """The results of systems that may be compared: their answers to one suite's tasks were graded in the same way.

    Attributes:
        harness: The digest of the program that runs checks.
        standings: The results of each system, with the highest rates first.
        listed: The number of tasks that the suite has in this tier; the length of `tasks` if the suite is unknown.
        k: The k of pass^k in the comparison of reliability: the largest k for which every system has an estimate.
        compared: The number of standings that are in `comparisons`.
    """

    page: str
    title: str
    suite: str
    suite_digest: str
    tier: str
    harness: str
    sandbox: str
    standings: tuple[Standing, ...]
    tasks: tuple[str, ...]
    listed: int
    k: int
    cells: tuple[BoardCell, ...]
    compared: int
    comparisons: tuple[Comparison, ...]


class Audited(Record):
    """The results in a task's certificate, which records how well the task's check tells right code from wrong code.

    A mutant is the reference with one small mistake.

    Attributes:
        wrong_rejected: The number of wrong versions (plausible mistakes that come with the task) that the check
            rejects.
        mutants_rejected: The number of mutants with one changed expression or statement that the check rejects.
        behavioural_rejected: The number of mutants that the check rejects among those that are wrong only for certain
            inputs, such as one dtype or memory layout.
    """

    seeds: int
    flakes: int
    golden_cases: int
    rewrites: int
    rewrites_passed: int
    wrong: int
    wrong_rejected: int
    mutants: int
    mutants_rejected: int
    behavioural: int | None
    behavioural_rejected: int | None


class TaskInfo(Record):
    """The information about a task that a site shows. If the local suite lacks the task, unknown fields are None.

    Attributes:
        public_since: The date on which the method of the task became public.
        instruction: The task's instruction without the rules for every task, as Markdown.
        outdated: The number of answers that were graded with another version of the task.
    """

    id: str
    page: str
    category: str
    tier: str
    title: str | None
    venue: str | None
    year: int | None
    public_since: str | None
    url: str | None
    instruction: str | None
    audited: Audited | None
    outdated: int


class Site(Record):
    """The data of a site."""

    schema_version: int = SCHEMA
    lmrbench: str = __version__
    runs: tuple[RunInfo, ...]
    boards: tuple[Board, ...]
    tasks: tuple[TaskInfo, ...]
