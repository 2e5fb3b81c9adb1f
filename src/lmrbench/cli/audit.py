"""`lmrbench audit`: is a task's check worth something?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench.cli.adversary import attack_with_progress, print_findings
from lmrbench.cli.options import (
    PATTERN_HELP,
    AddressOption,
    ExecutorOption,
    FreshOption,
    JsonOption,
    SandboxOption,
    SuiteOption,
    TierOption,
    WorkersOption,
    executor_of,
    load_all_and_some,
    print_json,
    with_checks,
)
from lmrbench.cli.terminal import console, progress, say
from lmrbench.report.render.cells import cell
from lmrbench.report.render.tables import sheet, show
from lmrbench.sandbox.protocol import DEFAULT_SANDBOX, LOCAL, Executor
from lmrbench.tasks.loading import suite_folder, suite_folders

if TYPE_CHECKING:
    from lmrbench.authoring.audit.certificate import Certificate
    from lmrbench.tasks.model import Task

QUICK_SEEDS = 3
# Two threads may take so much of the tolerance of a forensic task.
MOST_OF_TOLERANCE = 0.1


def audit(
    patterns: Annotated[list[str] | None, typer.Argument(metavar="[TASK]...", help=PATTERN_HELP)] = None,
    seeds: Annotated[int, typer.Option(help="Run the golden and the rewrites under this many seeds.", min=1)] = 100,
    quick: Annotated[
        bool, typer.Option("--quick", help=f"{QUICK_SEEDS} seeds, and no certificate: a look while you write.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Run nothing: fail where a certificate is missing, stale or falls short.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Audit also what has a certificate that holds.")] = False,
    sandbox: SandboxOption = DEFAULT_SANDBOX,
    workers: WorkersOption = None,
    adversary: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Instead, let a model write wrong and right versions, and grade these."),
    ] = None,
    wrong: Annotated[int, typer.Option(help="With --adversary: how many wrong versions of each task.", min=0)] = 12,
    right: Annotated[int, typer.Option(help="With --adversary: how many right versions of each task.", min=0)] = 5,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="With --adversary: where the versions and their grades are kept.")
    ] = Path("adversaries.jsonl"),
    tier: TierOption = "function",
    fresh: FreshOption = None,
    executor: ExecutorOption = "local",
    address: AddressOption = None,
    suite: SuiteOption = None,
    json: JsonOption = False,
) -> None:
    """Measure tasks: do their checks pass what is right, always, and reject what is wrong?

    The golden is repeated over seeds, processes and threads; rewrites must pass; the mask, the wrong versions, cheats
    and at least 95% of the golden's mutants must fail, those of one expression and those of behaviour; what a solver
    sees must not hold the answer, and must state every constant; the check must hold no oracle, a name that gives the
    target's result. "fixed" is the share of cases with the same observation under any seed; above a
    third, a line says so. The result is kept beside
    the task as its certificate, and holds until the task or the audit changes.

    With --adversary a model that never sees the check writes versions of each task's targets. Wrong ones that pass and
    right ones that fail are listed; called again, the command asks only for what is missing.

    With --tier method or twin there are no mutants of behaviour. Of a method, each mutant that is rejected must change
    the logged results, or break a sentence that decided/TASK.toml names.

    With --tier forensic each published draw is tried, or with --fresh some new ones: is it fair, and is it the same on
    two threads? Nothing is written.

    Where a workspace answers a task of another tier of the same paper, a line says so; that is no shortfall.

    Exits with 1 if a task falls short.
    """
    from lmrbench.authoring.audit.certificate import read_certificate
    from lmrbench.authoring.audit.knowledge import MOST_FIXED
    from lmrbench.authoring.new.drafting import left_to_do
    from lmrbench.errors import UsageError

    where = executor_of(executor, address)
    if where != LOCAL and (tier == "forensic" or adversary is not None):
        raise UsageError("--executor ray is for neither --adversary nor --tier forensic")
    if tier == "forensic":
        raise typer.Exit(int(_audit_draws(patterns or [], fresh, workers, suite, sandbox, json)))
    every_task, tasks = load_all_and_some(suite, patterns, tier)
    tasks = with_checks(tasks)
    if adversary is not None:
        findings = attack_with_progress(
            list(tasks), adversary, wrong, right, out, workers, suite_folder(suite), sandbox
        )
        if json:
            print_json([{**item.model_dump(mode="json"), "amiss": item.amiss} for item in findings])
        else:
            print_findings(findings, out)
        raise typer.Exit(int(any(item.amiss for item in findings)))
    found: dict[str, Certificate | None] = {task.id: read_certificate(task) for task in tasks}
    if not check:
        wanted = QUICK_SEEDS if quick else seeds
        stale = [] if again or quick else [task for task in tasks if found[task.id] is None]
        found |= (renewed := _told_anew(stale, wanted))
        todo = [
            task
            for task in tasks
            if task.id not in renewed
            and (again or (known := found[task.id]) is None or known.seeds < wanted or known.shortfalls)
        ]
        place = suite_folder(suite)
        found |= audit_with_progress(todo, wanted, workers, place, not quick, sandbox, where)
    foreign = _foreign_leaks([task for task in every_task if task.tier == tier])
    shortfalls = {
        task.id: [*_said(task, found[task.id]), *foreign.get(task.id, ()), *left_to_do(task)] for task in tasks
    }
    beside = _leaks_between_tiers(every_task, {task.paper.slug for task in tasks})
    if json:
        facts = [_facts(name, item, shortfalls[name]) for name, item in found.items()]
        print_json([{**item, "other_tiers": beside[str(item["task"])]} for item in facts])
    else:
        _print_table(found, shortfalls)
        for name, texts in beside.items():
            for text in texts if name in found else ():
                say(f"{name}: {text}")
        for name, item in found.items():
            if item and item.fixed_inputs is not None and item.fixed_inputs > MOST_FIXED:
                say(f"{name}: {item.fixed_inputs:.0%} of its cases are fixed, more than {MOST_FIXED:.0%}")
    if any(shortfalls.values()):
        raise typer.Exit(1)


def _told_anew(tasks: Sequence[Task], seeds: int) -> dict[str, Certificate]:
    """Renew the certificates of tasks of which only what a solver is told has changed: nothing has to run for that."""
    from lmrbench.authoring.audit.certificate import read_runs, write_certificate
    from lmrbench.authoring.audit.leaks import missing, worst_leak
    from lmrbench.tasks.digests import audit_digest

    renewed = {}
    for task in tasks:
        if (known := read_runs(task)) is not None and known.seeds >= seeds:
            # Of a whole method no constant has to be stated; see `tier_audit`.
            lacking = known.missing if task.tier == "method" else missing(task)
            said = {"digest": audit_digest(task), "leak": worst_leak(task), "missing": lacking}
            renewed[task.id] = known.model_copy(update=said)
            write_certificate(task, renewed[task.id])
    return renewed


def _audit_draws(
    patterns: list[str], fresh: int | None, workers: int | None, suite: Path | None, sandbox: str, json: bool
) -> bool:
    """Try forensic tasks and show what came of it; whether one of them falls short."""
    from lmrbench.grading.forging import audited_draws
    from lmrbench.records import grouped
    from lmrbench.sandbox.registry import open_pool
    from lmrbench.tasks.loading import load_suite
    from lmrbench.tasks.selection import select_with_draws

    _, draws = select_with_draws(load_suite(suite_folder(suite)), patterns, "forensic", fresh)
    found = []
    with open_pool(sandbox, suite_folders(suite_folder(suite)), workers) as pool, progress() as bars:
        bar, stages = bars.add_task("draws", total=len(draws)), bars.add_task("", total=None)

        def advance(stage: str, done: int, total: int) -> None:
            bars.update(stages, description=stage, completed=done, total=total)

        for items in grouped(draws, lambda item: item[0].id).values():
            for item in audited_draws(items[0][0], [draw[1:] for draw in items], pool, advance):
                found.append(item)
                bars.advance(bar)
    if json:
        print_json([item.model_dump() for item in found])
    else:
        rows = [
            (
                item.task,
                f"{item.draw.separable:.0%}" if item.draw.separable is not None else "-",
                "-" if item.margin is None else f"{item.margin:.2g}",
                item.unfair or "-",
            )
            for item in found
        ]
        columns = ("task", "separable", "two threads", "not fair")
        show(sheet(f"{len(found)} draws", columns, rows, numbers=columns[1:3]), console())
    return any(item.unfair or item.margin is None or item.margin > MOST_OF_TOLERANCE for item in found)


def audit_with_progress(
    tasks: list[Task],
    count: int,
    workers: int | None,
    suite: Path,
    write: bool,
    sandbox: str = DEFAULT_SANDBOX,
    executor: Executor = LOCAL,
) -> dict[str, Certificate]:
    """Audit tasks of one suite with a progress bar on standard error; `write` keeps their certificates."""
    from lmrbench.authoring.audit.auditing import audit as audit_task
    from lmrbench.authoring.audit.certificate import write_certificate
    from lmrbench.authoring.audit.tiers import audit_of_tier
    from lmrbench.sandbox.registry import open_executor
    from lmrbench.tasks.digests import runs_digest

    found: dict[str, Certificate] = {}
    if not tasks:
        return found
    with open_executor(executor, sandbox, suite_folders(suite), workers) as pool, progress() as bars:
        bar = bars.add_task("tasks", total=len(tasks))
        stages = bars.add_task("", total=1)
        for task in tasks:

            def advance(stage: str, done: int, total: int, name: str = task.id) -> None:
                bars.update(stages, description=f"{name}: {stage}", completed=done, total=total)

            # The same seeds on every machine: a certificate can be made again and compared.
            measure = audit_task if task.tier == "function" else audit_of_tier
            found[task.id] = measure(task, range(count), pool, advance).model_copy(
                update={"tier": task.tier, "runs": runs_digest(task)}
            )
            if write:
                write_certificate(task, found[task.id])
            bars.advance(bar)
    return found


def _foreign_leaks(tasks: Sequence[Task]) -> dict[str, list[str]]:
    """What the workspaces of a tier's tasks tell of other papers' tasks, which no certificate of one task can know."""
    from lmrbench.authoring.audit.certificate import LEAK_SHARE
    from lmrbench.authoring.audit.leaks import foreign_leaks

    found: dict[str, list[str]] = {}
    for task, other, leak in foreign_leaks(tasks):
        if leak.share > LEAK_SHARE:
            text = f"{leak.place} holds {leak.share:.0%} of the answer to {other.id}, more than {LEAK_SHARE:.0%}"
            found.setdefault(task.id, []).append(text)
    return found


def _leaks_between_tiers(tasks: Sequence[Task], papers: Collection[str]) -> dict[str, list[str]]:
    """What workspaces tell of the same paper's tasks of other tiers: nobody's shortfall, and good to know."""
    from lmrbench.authoring.audit.certificate import LEAK_SHARE
    from lmrbench.authoring.audit.leaks import leaks_between_tiers

    found: dict[str, list[str]] = defaultdict(list)
    for task, other, leak in leaks_between_tiers(task for task in tasks if task.paper.slug in papers):
        if leak.share > LEAK_SHARE:
            text = f"its workspace answers {other.id} ({other.tier} tier): {leak.place} holds {leak.share:.0%}"
            found[task.id].append(f"{text} of a function; give both to no one solver")
    return found


def _facts(name: str, certificate: Certificate | None, shortfalls: list[str]) -> dict[str, object]:
    measured = certificate.model_dump(mode="json", exclude={"task"}) if certificate else {}
    return {"task": name, "shortfalls": shortfalls, **measured}


def _said(task: Task, certificate: Certificate | None) -> list[str]:
    from lmrbench.authoring.audit.certificate import why_none

    if certificate is None:
        return [f"no certificate holds: it {why_none(task)}; run `lmrbench audit {task.id}`"]
    return list(certificate.shortfalls)


def _print_table(found: dict[str, Certificate | None], shortfalls: dict[str, list[str]]) -> None:
    out = console()
    columns = ("task", "cases", "flakes", "rewrites", "wrong", "mutants", "score", "behaviours", "their score", "fixed")
    rows = [(name, *(_measures(item) if item else ["-"] * 9)) for name, item in found.items()]
    show(sheet("", columns, rows, numbers=columns[1:], spare=("flakes", "rewrites", "cases", "wrong")), out)
    for name, item in found.items():
        for survivor in item.visible.undecided if item and item.visible else ():
            out.print(cell(f"{name}: nothing decides mutant {survivor.id} ({survivor.operator})", style="bold"))
            out.print(cell(survivor.diff), soft_wrap=True)
            out.print()
        for survivor in item.survivors if item else ():
            out.print(cell(f"{name}: mutant {survivor.id} ({survivor.operator}) survives", style="bold"))
            out.print(cell(survivor.diff), soft_wrap=True)
            if survivor.told_apart_by:
                out.print(cell(f"a case that rejects it: {survivor.told_apart_by}"), soft_wrap=True)
            out.print()
    for name, texts in shortfalls.items():
        for shortfall in texts:
            out.print(cell(f"{name}: {shortfall}", style="red"), soft_wrap=True)


def _measures(item: Certificate) -> tuple[object, ...]:
    return (
        item.cost.cases,
        item.golden.flakes,
        f"{sum(variant.passed for variant in item.rewrites)}/{len(item.rewrites)}",
        f"{sum(variant.passed for variant in item.wrong)}/{len(item.wrong)}",
        item.mutation.mutants,
        f"{item.mutation.score:.3f}",
        *((item.behavioural.mutants, f"{item.behavioural.score:.3f}") if item.behavioural else ("-", "-")),
        "-" if item.fixed_inputs is None else f"{item.fixed_inputs:.0%}",
    )
