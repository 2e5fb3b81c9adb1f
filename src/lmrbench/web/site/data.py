"""Build the data of a site: its boards (tables of results), tasks and runs.

The data reveals no expected values, and does not identify the machine or the user who started a run: it contains no
reasons, logs, code, folders or addresses. User-supplied names are truncated and never used as file names.
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
from lmrbench.records import grouped
from lmrbench.report.combine import system_names, systems_of, unique
from lmrbench.report.findings import Findings, Group
from lmrbench.report.horizon import horizon
from lmrbench.report.measures.attempts import Attempts, attempts
from lmrbench.report.measures.comparison import comparisons
from lmrbench.report.measures.dates import by_month
from lmrbench.report.measures.effort import effort
from lmrbench.report.measures.endings import statuses
from lmrbench.report.measures.horizon import outcomes
from lmrbench.report.measures.rates import rates
from lmrbench.runs.folder import FACTS, GRADES, Run
from lmrbench.runs.pack import public_seeds, public_settings
from lmrbench.runs.records import UNANSWERED, RunFacts, Usage
from lmrbench.runs.verify import Verification, read_verification
from lmrbench.tasks.digests import grading_digest
from lmrbench.tasks.model import Task
from lmrbench.text import printable
from lmrbench.web.site.records import Audited, Board, BoardCell, RunInfo, Site, Standing, TaskInfo

# The length to which user-supplied names are truncated.
_LONGEST = 120
# At most this many systems of a board, those with the highest rates, are compared in pairs.
MOST_COMPARED = 20
# The suite name that findings give to tasks that are not in the local suite.
OTHER_SUITE = "another suite"
# The maximum number of cells of a board (tasks times systems), and of pages of a site.
MOST_CELLS, MOST_PAGES = 50_000, 12_000


class Way(NamedTuple):
    """The suite, harness and sandbox with which a run was graded. Runs that differ in these are on different boards."""

    suite: str
    suite_digest: str
    harness: str
    sandbox: str


@dataclass(frozen=True)
class Named:
    """A run whose own name and whose systems' names are unique on the site."""

    number: int
    name: str
    run: Run
    verification: Verification | None

    @property
    def way(self) -> Way:
        """The way in which the run was graded."""
        facts = self.run.facts
        if facts is None:
            return Way("", "", "", "")
        return Way(short(facts.suite), facts.suite_digest, facts.environment.get("harness", ""), short(facts.sandbox))


def short(text: str) -> str:
    """Return a name as one line of bounded length."""
    shown = printable(text[: _LONGEST + 1])
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


def page_name(kind: str, *key: str) -> str:
    """Return the file name of a page. It contains a digest of the key, so it is stable and reveals no user input."""
    return f"{kind}-{hashlib.sha256(chr(0).join(key).encode()).hexdigest()[:12]}.html"


def named(runs: Sequence[Run]) -> list[Named]:
    """Name each run after its folder, and rename the systems in its records with `system_names`."""
    labels = unique(short(run.folder.resolve().name) for run in runs)
    found = []
    for number, (run, label, names) in enumerate(zip(runs, labels, system_names(runs, labels, short), strict=True), 1):

        def key(item: Grade | Usage, names: Mapping[str, str] = names) -> dict[str, str]:
            return {"system": names[item.system], "task": short(item.task)}

        renamed = replace(
            run,
            grades=tuple(item.model_copy(update=key(item)) for item in run.grades),
            usages=tuple(item.model_copy(update=key(item)) for item in run.usages),
            snapshots=(),
        )
        found.append(Named(number, label, renamed, read_verification(run)))
    return found


def run_info(item: Named) -> RunInfo:
    """Return the information about a run that the site shows."""
    run = item.run
    facts = run.facts or RunFacts(lmrbench="", suite_digest="", tasks=(), seeds=(), sandbox="", environment={})
    return RunInfo(
        number=item.number,
        name=item.name,
        updated=_updated(run),
        systems=tuple(systems_of(run)),
        answers=len(run.grades),
        passes=sum(grade.correct for grade in run.grades),
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


def board(way: Way, suite: str, group: Group, findings: Findings, runs: Iterable[Named]) -> Board:
    """Return the board of one suite and group, for runs that were graded in the same way.

    Args:
        way: The way in which the runs were graded.
        suite: The name of the suite.
        group: The tier of the tasks, and the setting of the systems (prompt or agent).
        findings: The results of the runs for this suite and group.
        runs: The runs that the results come from.

    Raises:
        UsageError: The board has more than `MOST_CELLS` cells.
    """
    grades, usages = findings.grades, findings.usages
    of_system = {system: item for item in runs for system in systems_of(item.run)}
    overall = rates(grades, usages, lambda task: "all").get("all", {})
    of_categories = rates(grades, usages, lambda task: short(findings.categories[task]))
    of_months = by_month(findings)
    several, efforts, endings = attempts(grades), effort(grades, usages), statuses(usages)
    horizons = {system: horizon(system, items) for system, items in outcomes(grades).items()}
    standings = [
        Standing(
            system=system,
            page=page_name("system", system),
            run=of_system[system].number,
            verified=of_system[system].verification is not None,
            rate=rate,
            attempts=tuple(several.get(system, ())),
            horizon=horizons.get(system),
            effort=efforts.get(system),
            categories={name: items[system] for name, items in of_categories.items() if system in items},
            months={month: items[system] for month, items in of_months.items() if system in items},
            endings=endings.get(system, {}),
        )
        for system, rate in overall.items()
    ]
    standings.sort(key=lambda item: (-1.0 if item.rate.correct is None else -item.rate.correct, item.system))
    standings.sort(key=lambda item: item.rate.correct is None)
    best = [item.system for item in standings if item.rate.correct is not None][:MOST_COMPARED]
    chosen = sorted((item for item in grades if item.system in best), key=lambda item: best.index(item.system))
    cells = tuple(_cells(grades, usages))
    tasks = sorted({item.task for item in cells})
    if len(standings) * len(tasks) > MOST_CELLS:
        raise UsageError(
            f"{len(standings)} systems on {len(tasks)} tasks: more than the {MOST_CELLS:,} cells that a site shows; "
            "name fewer runs"
        )
    return Board(
        page=page_name("board", *way, suite, str(group)),
        title=f"{group.title.capitalize()}, {_suite_title(way, suite)}",
        suite=short(suite),
        suite_digest=way.suite_digest,
        tier=group.tier,
        harness=way.harness,
        sandbox=way.sandbox,
        standings=tuple(standings),
        tasks=tuple(tasks),
        listed=max(len(findings.expected), len(tasks)),
        k=_common_k(several.values()),
        cells=cells,
        compared=len(best),
        comparisons=tuple(comparisons(chosen)),
    )


def _common_k(attempts_of_systems: Iterable[Sequence[Attempts]]) -> int:
    """Return the largest k for which every system has an estimate of pass^k, or 1 if there is none."""
    found = [{item.k for item in items} for items in attempts_of_systems]
    return max(set.intersection(*found), default=1) if found else 1


def site_of(runs: Sequence[Named], boards: Sequence[Board], tasks: Mapping[str, Task]) -> Site:
    """Return the data of a site that shows the given boards.

    Args:
        runs: All runs.
        boards: All boards; those without any answer are omitted.
        tasks: The tasks of the local suite, by id.

    Raises:
        UsageError: The site has more than `MOST_PAGES` pages.
    """
    grades = grouped((item for run in runs for item in run.run.grades), lambda item: item.task)
    boards = _distinct([board for board in boards if board.cells])
    tiers = {task: board.tier for board in boards for task in board.tasks}
    if len(tiers) + sum(len(board.standings) for board in boards) > MOST_PAGES:
        raise UsageError(f"the site would have more than {MOST_PAGES:,} pages; name fewer runs")
    found = [_task(name, tier, grades.get(name, []), tasks.get(name)) for name, tier in sorted(tiers.items())]
    return Site(runs=tuple(map(run_info, runs)), boards=tuple(boards), tasks=tuple(found))


def _settings(facts: RunFacts) -> dict[str, JsonValue] | None:
    """Return the public options of a run, without those that apply only to the other setting (prompt or agent)."""
    told = public_settings(facts.solving)
    if told is None:
        return None
    other = "agent" if told.get("setting", "prompt") == "prompt" else "prompt"
    extras = {name: field.json_schema_extra for name, field in Settings.model_fields.items()}
    apart = {name for name, extra in extras.items() if isinstance(extra, dict) and extra.get("only") == other}
    return {name: value for name, value in told.items() if name not in apart}


def _suite_title(way: Way, suite: str) -> str:
    """Return the name of a suite, with its version if the runs were graded with that suite itself."""
    if suite in way.suite or suite == OTHER_SUITE:
        return way.suite or "a suite without a name"
    return short(suite)


def _distinct(boards: Sequence[Board]) -> list[Board]:
    """Make the titles of boards distinct: append the digests and sandboxes in which boards of equal title differ."""
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


def _cells(grades: Iterable[Grade], usages: Iterable[Usage]) -> Iterable[BoardCell]:
    answers = grouped(grades, lambda item: (item.task, item.system))
    missing = Counter((item.task, item.system) for item in usages if item.status in UNANSWERED)
    for task, system in sorted(answers.keys() | missing.keys()):
        some = answers.get((task, system), [])
        yield BoardCell(
            task=task,
            system=system,
            passes=sum(item.correct for item in some),
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
        public_since=task.paper.public_since if task else None,
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
    """Return the time of a run's last grade: when its file of grades last changed. The folder records no other date."""
    file = next((item for item in (run.folder / GRADES, run.folder / FACTS) if item.is_file()), None)
    if file is None:
        raise RecordError(f"{run.folder} contains no run")
    return datetime.fromtimestamp(int(file.stat().st_mtime), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
