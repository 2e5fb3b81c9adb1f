"""The tables of a report: each statistic of `analysis` as a sheet, with a sentence that says what it shows.

Those of what unit tests say stand here; `rated_tables` has those of what judges and people say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lmrbench.report.findings import by_suite, by_tier
from lmrbench.report.rated_tables import rated_sheets
from lmrbench.report.render.cells import (
    UNDEFINED,
    Figure,
    counted_answers,
    number,
    p_value,
    passes,
    percent,
    points,
    span,
    span_of,
)
from lmrbench.report.render.tables import Sheet, in_one_line, sheet

if TYPE_CHECKING:
    from lmrbench.grading.records import Grade
    from lmrbench.report.findings import Findings
    from lmrbench.report.measures.comparison import Comparison
    from lmrbench.report.measures.progress import Spent
    from lmrbench.report.measures.rates import Rate
    from lmrbench.report.measures.repositories import RepositoryEffect
    from lmrbench.report.statistics import Estimate
    from lmrbench.runs.records import Snapshot, Usage

ONE_DIFFERS = "one paper differs"
# The columns of a comparison, after those that say of what it is.
COMPARED = ("tasks", "difference", "interval", "won/lost", "test", "p", "p (Holm)")


def sheets(findings: Findings) -> list[Sheet]:
    """The tables of a report, those of each suite and of each tier apart."""
    suites = by_suite(findings)
    if len(suites) > 1:
        return [
            replace(item, title=f"{suite}: {item.title}", name=f"{suite}-{item.name}")
            for suite, part in suites.items()
            for item in sheets(part)
        ] + _repositories(findings)
    parts = by_tier(findings)
    if len(parts) == 1:
        return _sheets(findings)
    return [
        replace(item, title=f"{tier} tier: {item.title}", name=f"{tier}-{item.name}")
        for tier, part in parts.items()
        for item in _sheets(part)
    ] + _memory(findings)


def _sheets(findings: Findings) -> list[Sheet]:
    """The tables of one tier.

    By task, by category, failures, and what was left unanswered; then intervals, several answers to a task, effort,
    when agents were first right, speeds, comparisons, what difference the tasks can detect, and what judges and people
    say, each where there is anything to say.
    """
    from lmrbench.report.measures.comparison import comparisons
    from lmrbench.report.measures.rates import rates

    by_task = rates(findings.grades, findings.usages, lambda task: task)
    if not findings.grades:
        return [*_endings(findings.usages), *rated_sheets(findings)]
    groups = dict(sorted(rates(findings.grades, findings.usages, findings.categories.__getitem__).items()))
    overall = rates(findings.grades, findings.usages, lambda task: "all")
    systems = list(dict.fromkeys(system for of_systems in by_task.values() for system in of_systems))
    pairs = comparisons(findings.grades)
    expected = len(findings.expected)
    found = [_by_task(by_task, systems, findings.usages), _by_category(groups | overall, systems, expected)]
    found += [
        *_changes_found(findings.grades),
        *_failures(findings.grades),
        *_endings(findings.usages),
        _intervals(overall["all"], expected),
    ]
    found += [*_attempts(findings.grades), *_effort(findings.grades, findings.usages)]
    found += first_right_sheets(findings.snapshots)
    found += _speeds(findings.grades)
    found += _comparisons(pairs) if pairs else []
    return [*found, _detectable(len({item.task for item in findings.grades}), pairs), *rated_sheets(findings)]


def _by_task(by_task: Mapping[str, Mapping[str, Rate]], systems: Sequence[str], usages: Sequence[Usage]) -> Sheet:
    rows = []
    for task, of_systems in sorted(by_task.items()):
        found = [of_systems.get(system) for system in systems]
        ended = Counter(item.status.replace("_", " ") for item in usages if item.task == task)
        what = ", ".join(name if count == 1 else f"{count} {name}" for name, count in ended.most_common())
        rows.append([task, *(_of_task(item) for item in found), what])
    columns = ["task", *(systems if len(systems) > 1 else ["passed"]), "ended"]
    if not usages:
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return sheet(
        "Answers that pass, by task",
        columns,
        rows,
        numbers=columns[1 : len(systems) + 1],
        spare=["ended"] if usages else (),
        name="by-task",
        by_system=True,
        note="For each task, how many answers pass of those that were graded; a dash where a system has none. One "
        "answer to one task says little of how often the system would pass that task.",
    )


def _of_task(rate: Rate | None) -> Figure:
    numbers = {" passes": rate.passes, " answers": rate.answers} if rate else {}
    return Figure(f"{rate.passes}/{rate.answers}" if rate and rate.answers else "-", numbers)


def _of_listed(tasks: int, listed: int) -> Figure:
    """A number of tasks, and how many the suite has where these are more."""
    return Figure(f"{tasks} of {listed}" if tasks < listed else str(tasks), {"": tasks})


def _by_category(groups: Mapping[str, Mapping[str, Rate]], systems: Sequence[str], listed: int) -> Sheet:
    rows = []
    for group, of_systems in groups.items():
        for system, item in of_systems.items():
            interval = span(item.low, item.high) if item.answers else "-"
            share, cases = number(item.passed, ".1%", "-"), number(item.cases, ".1%", "-")
            unanswered = percent(item.passed_with_unanswered) if item.unanswered else ""
            tasks = _of_listed(item.tasks, listed if group == "all" else 0)
            rows.append([group, system, tasks, counted_answers(item), share, interval, cases, unanswered])
    columns = ["category", "system", "tasks", "answers", "passed", "interval", "cases", "unanswered as wrong"]
    kept = [True, len(systems) > 1, *[True] * 5, any(row[-1] for row in rows)]
    return sheet(
        "Share of answers that pass, with 95% Wilson intervals over tasks",
        [name for name, keep in zip(columns, kept, strict=True) if keep],
        [[value for value, keep in zip(row, kept, strict=True) if keep] for row in rows],
        numbers=columns[2:],
        spare=[name for name in ("tasks", "cases", "answers") if name in columns],
        totals=len(groups.get("all", ())),
        name="by-category",
        note="Passed is the mean over tasks of the share of answers that pass. Answers are those that were graded; how "
        "many of them pass stands there where that is the same share. Cases is the mean share of cases that "
        "match, and is no partial credit. Categories hold few tasks, so that their intervals are wide and most "
        "differences between categories may be chance.",
    )


def _memory(findings: Findings) -> list[Sheet]:
    from lmrbench.report.measures.memory import memory_effects

    rows = [[item.system, *compared(item.comparison)] for item in memory_effects(findings.grades, findings.originals)]
    if not rows:
        return []
    columns = ["system", *COMPARED]
    return [
        sheet(
            "Originals minus their twins, in percentage points, with Holm's correction over systems",
            columns,
            rows,
            numbers=[column for column in COMPARED if column != "test"],
            spare=["interval", "won/lost", "tasks", "p", "test"],
            name="memory",
            note="A twin is a task whose paper and code differ from the original's in one decisive thing. A system "
            "that knows published code by heart, and does not read, does better on the originals. Tasks of which only "
            "one of the two was answered are left out.",
        )
    ]


def effects_of_repositories(findings: Findings) -> list[RepositoryEffect]:
    """Each system on the papers that stand in several suites, by the tasks of the headline."""
    from lmrbench.report.measures.repositories import repository_effects

    headline = by_tier(findings).get("function")
    return repository_effects(headline.grades, findings.suites, findings.papers) if headline else []


def _repositories(findings: Findings) -> list[Sheet]:
    rows = [
        [item.system, f"{item.comparison.first} minus {item.comparison.second}", *compared(item.comparison)]
        for item in effects_of_repositories(findings)
    ]
    if not rows:
        return []
    columns = ["system", "suites", "papers", *COMPARED[1:]]
    return [
        sheet(
            "The same papers in two suites, in percentage points, with Holm's correction",
            columns,
            rows,
            numbers=[column for column in columns[2:] if column != "test"],
            spare=["interval", "won/lost", "papers", "p", "test"],
            name="repositories",
            note="Of each paper that stands in both suites, the mean over the answers to its tasks of one suite minus "
            "that of the other. Papers of which a system answered tasks of one suite alone are left out.",
        )
    ]


def _changes_found(grades: Sequence[Grade]) -> list[Sheet]:
    from lmrbench.report.measures.rates import changes_found

    rows = [
        [item.system, item.changes, item.answers, percent(item.passes / item.answers), percent(item.found)]
        for item in changes_found(grades)
    ]
    if not rows:
        return []
    columns = ["system", "changes", "answers", "passed", "changes found"]
    return [
        sheet(
            "Forensic tasks by how many changes there were to find",
            columns,
            rows,
            numbers=columns[1:],
            name="changes-found",
            note="An answer passes if it gives all metrics of the changed program. Of those that do not, the changes "
            "count as found that stand in the answer word for word, so that the share is a lower bound.",
        )
    ]


def _failures(grades: Sequence[Grade]) -> list[Sheet]:
    from lmrbench.report.measures.rates import failures

    rows = [
        [item.system, item.verdict, item.answers, item.example.task, in_one_line(item.example.reason)]
        for item in failures(grades)
    ]
    if not rows:
        return []
    return [
        sheet(
            "Answers that fail, by kind",
            ["system", "first failure", "answers", "for example", "reason"],
            rows,
            numbers=["answers"],
            spare=["system"],
            name="failures",
            note="Each answer that fails is counted once, by the verdict on the first case that does not match. The "
            "reason is of one example, and other answers of the same kind may have failed otherwise.",
        )
    ]


def _endings(usages: Sequence[Usage]) -> list[Sheet]:
    """How answers ended, and whose failure it was that there is none."""
    from lmrbench.records import grouped
    from lmrbench.runs.records import UNANSWERED

    found = []
    ways = grouped(usages, lambda item: (item.status in UNANSWERED, item.system, item.status))
    for machinery, name, title, note in (
        (
            False,
            "endings",
            "How answers ended",
            "How many answers ended in which way. It does not say whether they are right: an answer that a limit cut "
            "short is graded by the code that was there.",
        ),
        (
            True,
            "unanswered",
            "Left unanswered by the provider, the agent's program or this machine; in no rate",
            "Samples without an answer, for which the system is not to blame; they are in no rate. Rates are results "
            "once this table is gone.",
        ),
    ):
        rows = [
            [system, status.replace("_", " "), len(items), in_one_line(next((x.detail for x in items if x.detail), ""))]
            for (apart, system, status), items in ways.items()
            if apart == machinery
        ]
        columns = ["system", "ended", "answers", "for example"]
        if rows:
            found.append(sheet(title, columns, rows, numbers=["answers"], spare=["system"], name=name, note=note))
    return found


def _intervals(of_systems: Mapping[str, Rate], listed: int) -> Sheet:
    """Both intervals of each system, and what the samples without an answer could change."""
    rows = []
    for system, item in of_systems.items():
        bracket: list[object] = ["", "", ""]
        if item.unanswered:
            worst, best = item.passed_with_unanswered, item.passed_with_unanswered_right
            bracket = [item.unanswered, percent(worst), percent(best)]
        wilson, drawn = span(item.low, item.high), span(item.paper_low, item.paper_high)
        rows.append(
            [system, _of_listed(item.tasks, listed), item.papers, percent(item.passed), wilson, drawn, *bracket]
        )
    columns = ["system", "tasks", "papers", "passed", "over tasks", "over papers", "unanswered", "if wrong", "if right"]
    note = (
        "Two 95% intervals of the rate of each system. That over tasks (Wilson) takes tasks as independent. That over "
        "papers draws whole papers, for tasks of one paper are alike; it is not defined for a single paper, and where "
        "all tasks have the same rate, and it is too narrow where papers are few. Both speak of other tasks like "
        "these, and neither of another prompt, another sandbox or another version of the model."
    )
    if any(row[-1] for row in rows):
        note += " If wrong and if right are the rates if all unanswered samples were wrong, or were right."
    else:
        columns, rows = columns[:-3], [row[:-3] for row in rows]
    return sheet(
        "Share of answers that pass, with two kinds of 95% intervals",
        columns,
        rows,
        numbers=columns[1:],
        spare=["unanswered", "tasks", "papers"] if "unanswered" in columns else ["tasks", "papers"],
        name="intervals",
        note=note,
    )


def _attempts(grades: Sequence[Grade]) -> list[Sheet]:
    """pass@k and pass^k; none where no system has several answers to each task."""
    from lmrbench.report.measures.attempts import attempts

    found = attempts(grades)
    rows = [
        [
            system,
            item.k,
            item.tasks,
            percent(item.pass_at_k.mean),
            span_of(item.pass_at_k),
            percent(item.pass_hat_k.mean),
            span_of(item.pass_hat_k),
        ]
        for system, of_system in found.items()
        for item in of_system
    ]
    if all(item.k == 1 for of_system in found.values() for item in of_system):
        return []
    columns = ["system", "k", "tasks", "pass@k", "pass@k over papers", "pass^k", "pass^k over papers"]
    return [
        sheet(
            "One of k answers passes (pass@k), and all k pass (pass^k)",
            columns,
            rows,
            numbers=columns[1:],
            spare=["pass@k over papers", "pass^k over papers", "tasks"],
            name="attempts",
            note="Unbiased estimates from all graded answers, with 95% intervals over papers. pass@k supposes that "
            "somebody picks the right one of k answers, which a user without the check can't do; pass^k says how "
            "far one can rely on the system. k goes up to the least number of answers that any task has.",
        )
    ]


def _effort(grades: Sequence[Grade], usages: Sequence[Usage]) -> list[Sheet]:
    from lmrbench.report.measures.effort import effort

    rows = [
        [
            system,
            passes(item.passes, item.answers),
            number(item.dollars, ".4f", "not known" if item.passes else UNDEFINED),
            number(item.input_tokens, ",.0f"),
            number(item.output_tokens, ",.0f"),
            number(item.calls, ".1f"),
            number(item.minutes, ".2f"),
        ]
        for system, item in effort(grades, usages).items()
    ]
    columns = ["system", "passed", "dollars", "tokens in", "tokens out", "calls", "minutes"]
    if not rows:
        return []
    return [
        sheet(
            "What one passing answer takes, with the failed ones counted in",
            columns,
            rows,
            numbers=columns[1:],
            spare=["passed", "tokens in", "calls"],
            name="effort",
            note="Dollars, tokens, calls of the model and minutes of work of all graded answers, divided by the number "
            "of those that pass; with one answer per task, that is per solved task. Not defined where none passes. "
            "Unanswered samples are not counted; prices are those of the day of the run; minutes are the working time "
            "of model and tools, without waiting for the provider.",
        )
    ]


def first_right_sheets(snapshots: Sequence[Snapshot]) -> list[Sheet]:
    """What traced agents spent until they were first right, and after that; none without traces."""
    from lmrbench.report.measures.progress import first_right

    rows = [
        [system, passes(item.passes, item.answers), item.spoiled, part, *_spent(spent)]
        for system, item in first_right(snapshots).items()
        for part, spent in (("until right", item.until), ("after that", item.after))
    ]
    columns = ["system", "passed", "spoiled", "spent"]
    columns += ["turns", "tool calls", "tokens in", "tokens out", "minutes", "dollars"]
    if not rows:
        return []
    return [
        sheet(
            "What agents spend until their answer is first right, and after that",
            columns,
            rows,
            numbers=[name for name in columns if name not in ("system", "spent")],
            spare=["tokens out", "passed", "tool calls", "tokens in"],
            name="first-right",
            note="Medians over the traced answers that pass: what was spent up to the turn after which every case "
            "matched for the first time, and from then on. Spoiled are the answers that had been right after some turn "
            "and were wrong at the end. An agent does not learn when it is right, so that what it spends after that is "
            "checking as well as waste. Answers that are never right are in no median: compare systems that pass "
            "about as many.",
        )
    ]


def _spent(spent: Spent | None) -> Sequence[str]:
    if spent is None:
        return [UNDEFINED] * 6
    return [
        number(spent.turns, ".1f"),
        number(spent.tool_calls, ".1f"),
        number(spent.input_tokens, ",.0f"),
        number(spent.output_tokens, ",.0f"),
        number(spent.minutes, ".2f"),
        number(spent.dollars, ".4f", "not known"),
    ]


def _speeds(grades: Sequence[Grade]) -> list[Sheet]:
    """How fast the answers of each system are; none where no answer was timed."""
    from lmrbench.report.measures.speed import speeds

    rows = [
        [
            system,
            item.tasks,
            item.answers,
            *(text for of in (item.speed, item.memory) for text in _ratio(of)),
            item.void or "",
        ]
        for system, item in speeds(grades).items()
    ]
    if not rows:
        return []
    columns = ["system", "tasks", "answers", "speed", "over papers", "memory", "memory over papers", "no speed"]
    kept = columns if any(row[-1] for row in rows) else columns[:-1]
    return [
        sheet(
            "How fast answers are that pass, and how little memory they take: the reference's over theirs",
            kept,
            [row[: len(kept)] for row in rows],
            numbers=kept[1:],
            spare=["memory over papers", "no speed", "answers", "over papers"],
            name="speed",
            note="Above 1 is faster than the reference, or takes less memory. Geometric means over tasks, each task's "
            "being that of its answers, with 95% intervals over papers. Only answers that pass are timed, so two "
            "systems may be timed on different tasks; the reference is written to be read, not to be fast. No speed: "
            "answers that are wrong, or take too much time or memory, on timed inputs; the means leave them out.",
        )
    ]


def _ratio(value: Estimate | None) -> tuple[Figure, Figure]:
    mean, low, high = (value.mean, value.low, value.high) if value is not None else (None, None, None)
    interval = UNDEFINED if low is None or high is None else f"{low:.3g} to {high:.3g}"
    return number(mean, ".3g"), Figure(interval, {" low": low, " high": high})


def compared(item: Comparison) -> list[str]:
    """The cells of a comparison, from `tasks` to `p (Holm)`."""
    return [
        Figure(str(item.tasks), {"": item.tasks}),
        number(None if item.difference is None else 100 * item.difference.mean, "+.1f"),
        ONE_DIFFERS if item.one_differs else points(item.difference),
        Figure(f"{item.wins}/{item.losses}", {"won": item.wins, "lost": item.losses}),
        item.test,
        p_value(item.p),
        p_value(item.p_holm),
    ]


def _comparisons(pairs: Sequence[Comparison]) -> list[Sheet]:
    rows = [[item.first, item.second, *compared(item)] for item in pairs]
    columns = ["first", "second", *COMPARED]
    return [
        sheet(
            "Systems compared on the tasks that both answered, in percentage points",
            columns,
            rows,
            numbers=[column for column in COMPARED if column != "test"],
            spare=["interval", "won/lost", "tasks", "p", "test"],
            name="comparisons",
            note="The rate of the first system minus that of the second, with the 95% interval over papers, and on how "
            "many tasks the first does better or worse. McNemar's exact test takes tasks as independent; where a "
            "system has several answers per task, signs of whole papers are flipped instead. Where one paper alone "
            "differs, there is neither an interval nor a test. p (Holm) is corrected "
            "for all pairs of this table. A large p does not say that two systems are equally good, and "
            "a small one does not say that the difference matters.",
        )
    ]


def _detectable(tasks: int, pairs: Sequence[Comparison]) -> Sheet:
    from lmrbench.report.measures.power import ASSUMED_DISCORDANT, detectable_difference

    rows = []
    for systems, count, observed in (
        ("any two systems", tasks, None),
        *((f"{item.first} and {item.second}", item.tasks, item.discordant) for item in pairs),
    ):
        share = observed or ASSUMED_DISCORDANT
        smallest = detectable_difference(count, share)
        rows.append(
            [
                systems,
                count,
                Figure(f"{share:.1%}{'' if observed else ' (assumed)'}", {"": share}),
                number(None if smallest is None else 100 * smallest, ".1f", "none" if count else UNDEFINED),
            ]
        )
    columns = ["systems", "tasks", "tasks that differ", "smallest difference"]
    return sheet(
        "Smallest difference that McNemar's test would find four times in five, in points",
        columns,
        rows,
        numbers=columns[1:],
        name="detectable",
        note="The difference of two rates that the exact test finds with a power of 80% at a level of 5%, for as many "
        "tasks, one answer each, of which this share is passed by one system alone; the observed share, or 30% "
        "where none was observed. None means that with so few differing tasks not even the largest possible "
        "difference is found so often. It is computed for one comparison; a correction for several makes it larger.",
    )
