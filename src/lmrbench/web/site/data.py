"""What a site tells: the boards of systems, the tasks, and the runs with how they were graded. `data.json` is this.

Nothing in it tells of expected values, of the machine or of who ran it: no reasons, logs, code, folders or addresses.
Names that strangers chose are text of a bounded length, and pages have names of ours.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import NamedTuple

from pydantic import JsonValue

from lmrbench.authoring.audit.certificate import Certificate, read_certificate
from lmrbench.errors import RecordError, UsageError
from lmrbench.grading.records import Grade
from lmrbench.models.settings import Settings
from lmrbench.records import SCHEMA, Record, grouped
from lmrbench.report.measures.attempts import Attempts, attempts
from lmrbench.report.measures.comparison import Comparison, comparisons
from lmrbench.report.measures.effort import Effort, effort
from lmrbench.report.measures.rates import Rate, rates, statuses
from lmrbench.runs.folder import FACTS, GRADES, Run
from lmrbench.runs.pack import public_seeds, public_settings
from lmrbench.runs.records import UNANSWERED, AnswerStatus, RunFacts, Usage
from lmrbench.runs.verify import Verification, read_verification
from lmrbench.tasks.digests import grading_digest
from lmrbench.tasks.model import Task
from lmrbench.text import printable
from lmrbench.version import __version__

# Of names that strangers chose.
_LONGEST = 120
# Of the systems of a board, those with the highest rates are compared in pairs.
MOST_COMPARED = 20
# What a report calls the suite of tasks that are not here.
OTHER_SUITE = "another suite"
# More cells of tasks by systems, and more pages, are refused.
MOST_CELLS, MOST_PAGES = 50_000, 12_000


class RunInfo(Record):
    """One run. number: by which pages and boards name it. updated: when its folder got its last grade.

    made_here: how many of its grades the installation wrote that made the site. seeds: () where they are kept secret.
    verification: None for a run that nobody graded again from a pack here.
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
    """One system on one board. attempts: of the largest k. effort: None where no usage was recorded."""

    system: str
    page: str
    run: int
    verified: bool
    rate: Rate
    attempts: Attempts | None
    effort: Effort | None
    categories: dict[str, Rate]
    endings: dict[AnswerStatus, int]


class Cell(Record):
    """The answers of one system to one task."""

    task: str
    system: str
    passes: int
    answers: int
    unanswered: int


class Board(Record):
    """Systems that may be compared: tasks of one tier and one version of a suite, graded in one way.

    harness: digest of the program that runs checks. listed: how many tasks the suite has in this tier; as many as are
    in `tasks`, where it is not here. standings: the highest rate first. compared: how many of them are
    in `comparisons`.
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
    cells: tuple[Cell, ...]
    compared: int
    comparisons: tuple[Comparison, ...]


class Audited(Record):
    """The figures of a task's certificate. rejected: how many of so many wrong versions and mutants the check rejects.

    score, behavioural: the shares of mutants of expressions and of behaviour that it rejects.
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
    """A task. instruction: its own, in Markdown; None, like what else is known of it, for one that is in no suite here.

    outdated: how many of its answers were graded by another version of it.
    """

    id: str
    page: str
    category: str
    tier: str
    title: str | None
    venue: str | None
    year: int | None
    url: str | None
    instruction: str | None
    audited: Audited | None
    outdated: int


class Site(Record):
    """All that a site tells."""

    schema_version: int = SCHEMA
    lmrbench: str = __version__
    runs: tuple[RunInfo, ...]
    boards: tuple[Board, ...]
    tasks: tuple[TaskInfo, ...]


class Way(NamedTuple):
    """How a run was graded: what is graded otherwise stands on another board."""

    suite: str
    suite_digest: str
    harness: str
    sandbox: str


@dataclass(frozen=True)
class Named:
    """A run whose systems have names that are told apart on the whole site."""

    number: int
    name: str
    run: Run
    verification: Verification | None

    @property
    def way(self) -> Way:
        """How it was graded."""
        facts = self.run.facts
        if facts is None:
            return Way("", "", "", "")
        return Way(short(facts.suite), facts.suite_digest, facts.environment.get("harness", ""), short(facts.sandbox))


def short(text: str) -> str:
    """A name in one line of a bounded length."""
    shown = printable(text[: _LONGEST + 1])
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


def page_name(kind: str, *key: str) -> str:
    """The name of a page: the same for the same thing on every site, and made of nothing that a stranger chose."""
    return f"{kind}-{hashlib.sha256(chr(0).join(key).encode()).hexdigest()[:12]}.html"


def named(runs: Sequence[Run]) -> list[Named]:
    """Runs by the last part of their folders' names; a system that several have is named with its run."""
    several = {
        system for system, count in Counter(system for run in runs for system in _systems(run)).items() if count > 1
    }
    taken: set[str] = set()

    def free(name: str) -> str:
        found = next(item for item in (name, *(f"{name} {number}" for number in range(2, 10**6))) if item not in taken)
        taken.add(found)
        return found

    names = [free(short(run.folder.resolve().name)) for run in runs]
    taken.clear()
    found = []
    for number, (name, run) in enumerate(zip(names, runs, strict=True), 1):
        called = {
            system: free(f"{short(system)} ({name})" if system in several else short(system))
            for system in _systems(run)
        }

        def key(item: Grade | Usage, called: Mapping[str, str] = called) -> dict[str, str]:
            return {"system": called[item.system], "task": short(item.task)}

        renamed = replace(
            run,
            grades=tuple(item.model_copy(update=key(item)) for item in run.grades),
            usages=tuple(item.model_copy(update=key(item)) for item in run.usages),
            snapshots=(),
        )
        found.append(Named(number, name, renamed, read_verification(run)))
    return found


def _systems(run: Run) -> list[str]:
    told: list[Grade | Usage] = [*run.grades, *run.usages]
    return list(dict.fromkeys(item.system for item in told))


def run_info(item: Named) -> RunInfo:
    """What a site tells of a run."""
    run = item.run
    facts = run.facts or RunFacts(lmrbench="", suite_digest="", tasks=(), seeds=(), sandbox="", environment={})
    return RunInfo(
        number=item.number,
        name=item.name,
        updated=_updated(run),
        systems=tuple(_systems(run)),
        answers=len(run.grades),
        passes=sum(grade.passed for grade in run.grades),
        made_here=len(run.grades) - run.unsigned,
        lmrbench=short(facts.lmrbench),
        suite=short(facts.suite),
        suite_digest=short(facts.suite_digest),
        sandbox=short(facts.sandbox),
        seeds=public_seeds(facts.seeds),
        fresh_seeds=facts.fresh_seeds,
        fail_fast=facts.fail_fast,
        environment={short(key): short(value) for key, value in facts.environment.items()},
        settings=_settings(facts),
        verification=item.verification,
    )


def board(
    way: Way,
    suite: str,
    tier: str,
    grades: Sequence[Grade],
    usages: Sequence[Usage],
    categories: Mapping[str, str],
    runs: Iterable[Named],
    listed: int = 0,
) -> Board:
    """The board of these grades. categories: of the tasks, by id. runs: those that the grades are of. listed: tasks."""
    of_system = {system: item for item in runs for system in _systems(item.run)}
    overall = rates(grades, usages, lambda task: "all").get("all", {})
    of_categories = rates(grades, usages, lambda task: short(categories[task]))
    several, efforts, endings = attempts(grades), effort(grades, usages), statuses(usages)
    standings = [
        Standing(
            system=system,
            page=page_name("system", system),
            run=of_system[system].number,
            verified=of_system[system].verification is not None,
            rate=rate,
            attempts=several[system][-1] if system in several else None,
            effort=efforts.get(system),
            categories={name: items[system] for name, items in of_categories.items() if system in items},
            endings=endings.get(system, {}),
        )
        for system, rate in overall.items()
    ]
    standings.sort(key=lambda item: (-1.0 if item.rate.passed is None else -item.rate.passed, item.system))
    standings.sort(key=lambda item: item.rate.passed is None)
    best = [item.system for item in standings if item.rate.passed is not None][:MOST_COMPARED]
    chosen = sorted((item for item in grades if item.system in best), key=lambda item: best.index(item.system))
    cells = tuple(_cells(grades, usages))
    tasks = sorted({item.task for item in cells})
    if len(standings) * len(tasks) > MOST_CELLS:
        raise UsageError(
            f"{len(standings)} systems on {len(tasks)} tasks are more than the {MOST_CELLS:,} cells that a site shows"
        )
    return Board(
        page=page_name("board", *way, suite, tier),
        title=f"{tier.capitalize()} tier, {_suite_title(way, suite)}",
        suite=short(suite),
        suite_digest=way.suite_digest,
        tier=tier,
        harness=way.harness,
        sandbox=way.sandbox,
        standings=tuple(standings),
        tasks=tuple(tasks),
        listed=max(listed, len(tasks)),
        cells=cells,
        compared=len(best),
        comparisons=tuple(comparisons(chosen)),
    )


def site_of(runs: Sequence[Named], boards: Sequence[Board], tasks: Mapping[str, Task]) -> Site:
    """A site of these boards. tasks: those that are here, by id. Raises UsageError for more pages than a site has."""
    grades = grouped((item for run in runs for item in run.run.grades), lambda item: item.task)
    # An answer that was not graded yet is not told of.
    boards = _told_apart([board for board in boards if board.cells])
    tiers = {task: board.tier for board in boards for task in board.tasks}
    if len(tiers) + sum(len(board.standings) for board in boards) > MOST_PAGES:
        raise UsageError(f"so many systems and tasks are more than the {MOST_PAGES:,} pages that a site has")
    found = [_task(name, tier, grades.get(name, []), tasks.get(name)) for name, tier in sorted(tiers.items())]
    return Site(runs=tuple(map(run_info, runs)), boards=tuple(boards), tasks=tuple(found))


def _settings(facts: RunFacts) -> dict[str, JsonValue] | None:
    """The settings of a run that may be told, without those that are for the other setting alone."""
    told = public_settings(facts.solving)
    if told is None:
        return None
    other = "agent" if told.get("setting", "prompt") == "prompt" else "prompt"
    extras = {name: field.json_schema_extra for name, field in Settings.model_fields.items()}
    apart = {name for name, extra in extras.items() if isinstance(extra, dict) and extra.get("only") == other}
    return {name: value for name, value in told.items() if name not in apart}


def _suite_title(way: Way, suite: str) -> str:
    """What a suite is called with its version, where the run was of it alone."""
    if suite in way.suite or suite == OTHER_SUITE:
        return way.suite or "a suite without a name"
    return short(suite)


def _told_apart(boards: Sequence[Board]) -> list[Board]:
    """The boards, with titles that say what those of the same title differ in."""
    found = []
    for item in boards:
        others = [other for other in boards if other.title == item.title]
        differ = [
            f"{name.replace('_', ' ')} {getattr(item, name)[:8] or 'unknown'}"
            for name in ("suite_digest", "harness", "sandbox")
            if len({getattr(other, name) for other in others}) > 1
        ]
        found.append(item.model_copy(update={"title": f"{item.title} ({', '.join(differ)})"}) if differ else item)
    return found


def _cells(grades: Iterable[Grade], usages: Iterable[Usage]) -> Iterable[Cell]:
    answers = grouped(grades, lambda item: (item.task, item.system))
    missing = Counter((item.task, item.system) for item in usages if item.status in UNANSWERED)
    for task, system in sorted(answers.keys() | missing.keys()):
        some = answers.get((task, system), [])
        yield Cell(
            task=task,
            system=system,
            passes=sum(item.passed for item in some),
            answers=len(some),
            unanswered=missing[task, system],
        )


def _task(name: str, tier: str, grades: Sequence[Grade], task: Task | None) -> TaskInfo:
    category = task.category if task else next((item.category for item in grades), "unknown")
    certificate = read_certificate(task) if task and task.files.check else None
    digest = grading_digest(task) if task else None
    return TaskInfo(
        id=name,
        page=page_name("task", name),
        category=short(category),
        tier=tier,
        title=task.paper.title if task else None,
        venue=task.paper.venue if task else None,
        year=task.paper.year if task else None,
        url=str(task.paper.url) if task else None,
        instruction=task.instruction.strip() if task else None,
        audited=_audited(certificate) if certificate else None,
        outdated=sum(item.task_digest != digest for item in grades) if task else 0,
    )


def _audited(certificate: Certificate) -> Audited:
    return Audited(
        seeds=certificate.seeds,
        flakes=certificate.golden.flakes,
        golden_cases=certificate.golden.cases,
        rewrites=len(certificate.rewrites),
        rewrites_passed=sum(item.passed for item in certificate.rewrites),
        wrong=len(certificate.wrong),
        wrong_rejected=sum(not item.passed for item in certificate.wrong),
        mutants=certificate.mutation.mutants,
        mutants_rejected=certificate.mutation.rejected,
        behavioural=certificate.behavioural.mutants if certificate.behavioural else None,
        behavioural_rejected=certificate.behavioural.rejected if certificate.behavioural else None,
    )


def _updated(run: Run) -> str:
    """When a run got its last grade: nothing else in a folder that was graded has a date."""
    file = next((item for item in (run.folder / GRADES, run.folder / FACTS) if item.is_file()), None)
    if file is None:
        raise RecordError(f"{run.folder}: holds no run")
    return datetime.fromtimestamp(int(file.stat().st_mtime), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
