"""The tables and lines that `lmrbench grade` and `lmrbench verify` print."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from statistics import fmean

from lmrbench.grading.records import Grade, Ratio, Result, grade_word
from lmrbench.records import grouped
from lmrbench.report.render.tables import Sheet, first_failure, in_one_line, sheet
from lmrbench.runs.verify import VerifiedClaim
from lmrbench.text import counted


def shares_sheets(results: Sequence[Result]) -> list[Sheet]:
    """Return the tables of the number of correct submissions of each system, by task and by category."""
    category = {item.task: item.category for item in results}
    return [_shares("task", {task: task for task in category}, results), _shares("category", category, results)]


def _shares(title: str, group: Mapping[str, str], results: Sequence[Result]) -> Sheet:
    systems = list(dict.fromkeys(item.system for item in results))
    rows = []
    for name, members in grouped(results, lambda item: group[item.task]).items():
        found = grouped(members, lambda item: item.system)
        counts = [f"{_correct(found[system])}/{len(found[system])}" if system in found else "-" for system in systems]
        rows.append([name, *counts, f"{sum(item.seconds for item in members):.2f}"])
    totals = grouped(results, lambda item: item.system)
    shares = [f"{_mean_over_tasks(totals[system]):.1%}" for system in systems]
    robust = [f"{_mean_over_tasks(totals[system], robust=True):.1%}" for system in systems]
    rows.append(["all", *shares, f"{sum(item.seconds for item in results):.2f}"])
    rows.append(["all, robust", *robust, ""])
    columns = [title, *systems, "seconds"]
    return sheet("", columns, rows, numbers=columns[1:], spare=["seconds"], totals=2, by_system=True)


def _correct(results: Sequence[Result]) -> int:
    return sum(item.correct for item in results)


def _mean_over_tasks(results: Sequence[Result], robust: bool = False) -> float:
    """Return the rate of correct (or robust) answers of a system, as `lmrbench report` computes it."""
    tasks = grouped(results, lambda item: item.task).values()
    return fmean(fmean(item.robust if robust else item.correct for item in items) for items in tasks)


def failures_sheet(results: Sequence[Result], built_in: Collection[str]) -> Sheet | None:
    """Return the table of answers that fail at least one case, each with its first failure, or None if there are none.

    Args:
        results: The results of a grading.
        built_in: The names of the built-in systems that were graded. Masked repositories and wrong versions are meant
            to fail, so their failures are left out.
    """
    failed = [
        item
        for item in results
        if not item.robust and not (item.system in built_in and (item.label or item.system == "mask"))
    ]
    if not failed:
        return None
    columns = ("system", "task", "cases", "first failure")
    return sheet(
        "Answers that fail at least one case", columns, map(_failure, failed), numbers=["cases"], spare=["cases"]
    )


def _failure(item: Result) -> tuple[str, ...]:
    shown = first_failure(item.first_failure)
    # Code that was left out of an answer may be the reason why it fails.
    if left_out := "; ".join(line for line in item.warnings if line not in shown):
        shown = f"{shown} (warning: {in_one_line(left_out)})"
    return item.system, item.task, f"{item.matched}/{item.cases}", shown


def failing_grades_sheet(failed: Sequence[Grade]) -> Sheet:
    """Return the table of the failing answers of a run, each with its first failure."""
    rows = [[*item.answer, f"{item.matched}/{len(item.cases)}", first_failure(item.first_failure)] for item in failed]
    columns = ["system", "task", "sample", "cases", "first failure"]
    return sheet(
        "Answers that fail at least one case",
        columns,
        rows,
        numbers=["sample", "cases"],
        spare=["cases", "sample", "system"],
    )


def failed_cases_sheet(grade: Grade) -> Sheet | None:
    """Return the table of the failed cases of an answer, or None if there are none.

    Cases with the same seed, kind, verdict and reason share a row, which gives the name of the first. If all failed
    cases have the same seed, it is in the title instead of a column.
    """
    failed = [case for case in grade.cases if case.verdict != "match"]
    if not failed:
        return None
    rows = []
    alike = grouped(failed, lambda case: (case.seed, case.edge, case.verdict, case.reason.strip()))
    for (seed, edge, verdict, reason), cases in alike.items():
        first = cases[0].name or cases[0].case
        named = first if len(cases) == 1 else f"{first}, and {counted(len(cases) - 1, 'other')}"
        rows.append((seed, named, "edge" if edge else "ordinary", verdict, reason))
    columns = ["seed", "case", "kind", "verdict", "reason"]
    if len(seeds := {case.seed for case in failed}) > 1:
        return sheet("Failed cases", columns, rows, numbers=["seed"], spare=["seed", "kind"])
    return sheet(f"Failed cases (seed {seeds.pop()})", columns[1:], [row[1:] for row in rows], spare=["kind"])


def speeds_sheet(results: Sequence[Result]) -> Sheet | None:
    """Return the table of the speed and memory of timed answers, or None if no answer was timed."""
    rows = [
        [
            item.system,
            item.task,
            item.label or item.answer.sample,
            _ratio(timing.speed),
            _ratio(timing.memory),
            timing.rounds,
            in_one_line(timing.reason),
        ]
        for item in results
        if (timing := item.timing)
    ]
    if not rows:
        return None
    columns = ["system", "task", "answer", "speed", "memory", "rounds", "why not measured"]
    kept = columns if any(row[-1] for row in rows) else columns[:-1]
    return sheet(
        "Time and memory of the reference divided by those of the answer, on timed inputs, with 95% intervals over "
        "rounds",
        kept,
        [row[: len(kept)] for row in rows],
        numbers=["speed", "memory", "rounds"],
        spare=["rounds"],
    )


def _ratio(value: Ratio | None) -> str:
    return "none" if value is None else f"{value.median:.3g} ({value.low:.3g} to {value.high:.3g})"


def verification_sheets(answers: Sequence[VerifiedClaim]) -> list[Sheet]:
    """Return a table of claimed and recomputed grades by system and, if any differ, a table of these answers."""
    rows = [
        [
            system,
            len(items),
            *(sum(getattr(item.claimed, name) for item in items) for name in ("correct", "robust")),
            *(sum(getattr(item.found, name) for item in items) for name in ("correct", "robust")),
        ]
        for system, items in grouped(answers, lambda item: item.found.system).items()
    ]
    columns = ["system", "answers", "claimed correct", "claimed robust", "correct", "robust"]
    sheets = [sheet("Correct and robust answers", columns, rows, numbers=columns[1:])]
    differ = [
        [
            *item.found.answer,
            *(grade_word(verdict.correct, verdict.robust) for verdict in (item.claimed, item.found)),
        ]
        for item in answers
        if item.differs
    ]
    if differ:
        columns = ["system", "task", "sample", "claimed", "found"]
        sheets.append(sheet("Answers whose grade differs from the claim", columns, differ, numbers=["sample"]))
    return sheets


def missing_lines(missing: Mapping[str, Sequence[str]], tasks: int) -> Iterator[str]:
    """Yield a line for each system that submitted nothing for some tasks.

    Args:
        missing: The tasks without a submission, by system.
        tasks: The total number of tasks.
    """
    for system, its in missing.items():
        yield f"{system}: nothing submitted for {len(its)} of {counted(tasks, 'task')}"
