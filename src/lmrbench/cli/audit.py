"""`lmrbench task audit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from lmrbench.authoring.adversaries import attack_all
from lmrbench.authoring.audit.certificate import Certificate
from lmrbench.authoring.audit.draws import audit_draws
from lmrbench.authoring.audit.instructions import too_long
from lmrbench.authoring.audit.suite import QUICK_SEEDS, answers_of_other_tiers, audit_all, plan, shortfalls
from lmrbench.cli import options
from lmrbench.cli.grading import select
from lmrbench.cli.terminal import console, print_json, say, show, warn
from lmrbench.errors import UsageError
from lmrbench.grading.selection import Selection
from lmrbench.progress import progress_bars, staged
from lmrbench.report.render.cells import cell
from lmrbench.report.sheets import audit as tables
from lmrbench.sandbox.protocol import DEFAULT_SANDBOX, LOCAL
from lmrbench.sandbox.registry import executor_of, open_executor, open_pool
from lmrbench.tasks.loading import suite_folder, suite_folders

ADVERSARY = "With --adversary"


def audit(
    patterns: options.Patterns = None,
    seeds: Annotated[int, Option(help="Run the reference and the rewrites with this many seeds.", min=1)] = 100,
    quick: Annotated[bool, Option("--quick", help=f"Use {QUICK_SEEDS} seeds and write no certificate.")] = False,
    check: Annotated[
        bool, Option("--check", help="Run nothing; fail if a certificate is missing, stale or falls short.")
    ] = False,
    again: Annotated[bool, Option("--again", help="Also audit tasks with a valid certificate.")] = False,
    tier: options.TierName = "function",
    adversary: Annotated[
        str | None, Option(metavar="MODEL", help="Instead, let a model write wrong and right versions, and grade them.")
    ] = None,
    wrong: Annotated[int, Option(help="Number of wrong versions of each task.", min=0, rich_help_panel=ADVERSARY)] = 12,
    right: Annotated[int, Option(help="Number of right versions of each task.", min=0, rich_help_panel=ADVERSARY)] = 5,
    out: Annotated[
        Path, Option(metavar="FILE", help="The file for the versions and their grades.", rich_help_panel=ADVERSARY)
    ] = Path("adversaries.jsonl"),
    fresh: options.Fresh = None,
    sandbox: options.Sandbox = DEFAULT_SANDBOX,
    workers: options.Workers = None,
    executor: options.ExecutorName = "local",
    address: options.Address = None,
    suite: options.Suite = None,
    json: options.Json = False,
) -> None:
    """Measure whether the checks of tasks accept correct answers and reject wrong ones.

    The reference must pass with all seeds, in fresh processes and on two threads. Rewrites must pass, too; `plain` need
    only pass the ordinary cases. The mask, cheats and wrong versions must fail; wrong versions marked `Edge: ...` may
    fail in edge cases only. At least 95% of the mutants (the reference with one small mistake) must fail, counted
    separately for those with one changed expression and for behavioural mutants, which are wrong for some inputs only.
    The workspace must state every constant, but not the answer. The check must not contain an oracle: a name that gives
    the target's result. The results are stored with the task as its certificate, which is valid until the task or the
    auditor changes. In the table, "ordinary score" is the share of mutants that the ordinary cases alone reject, and
    "fixed cases" the share of cases with the same observation for every seed. Exits with 1 if a task falls short.

    With --adversary, a model that never sees the check writes versions of each task's targets. Wrong versions that pass
    and right versions that fail are listed. If the command is interrupted, run it again to resume.

    The tiers method and twin have no behavioural mutants. In the tier method, each rejected mutant must change the
    logged results, or contradict a sentence that decided/TASK.toml quotes. In the tier forensic, each published draw
    (or, with --fresh, each new one) must be fair and give the same results on two threads; no certificate is written.
    A workspace that contains answers to tasks of other tiers is reported, but does not count as a shortfall.
    """
    where = executor_of(executor, address)
    if where != LOCAL and (tier == "forensic" or adversary is not None):
        raise UsageError("--executor ray can't be used with --adversary or --tier forensic")
    if tier == "forensic":
        drawn = audit_draws(suite_folder(suite), patterns or (), fresh, sandbox, workers, staged)
        if json:
            print_json([item.model_dump() for item in drawn])
        else:
            show(tables.draws_sheet(drawn))
        raise typer.Exit(int(any(item.falls_short for item in drawn)))
    tasks = select(suite, patterns, tier).with_checks(warn)
    if adversary is not None:
        failed = _attack(tasks, adversary, wrong, right, out, workers, sandbox, json)
        raise typer.Exit(int(failed))
    wanted = QUICK_SEEDS if quick else seeds
    found, todo = plan(tasks.chosen, wanted, again, renew=not (check or quick))
    if todo and not check:
        with open_executor(where, sandbox, suite_folders(tasks.suite), workers) as pool:
            found |= audit_all(todo, wanted, pool, staged, write=not quick)
    short = shortfalls([task for task in tasks.every if task.tier == tier], tasks.chosen, found)
    others = answers_of_other_tiers(tasks.every, {task.paper.slug for task in tasks.chosen})
    if json:
        print_json(tables.audit_facts(found, short, others))
    else:
        _print(found, short, others)
        say(*(line for task in tasks.chosen for line in too_long(task)))
    if any(short.values()):
        raise typer.Exit(1)


def _print(
    found: dict[str, Certificate | None], shortfalls: dict[str, list[str]], others: dict[str, list[str]]
) -> None:
    out = console()
    show(tables.certificates_sheet(found))
    for heading, text in tables.mutants_to_see(found):
        out.print(cell(heading, style="bold"))
        out.print(cell(text), soft_wrap=True)
    for name, texts in shortfalls.items():
        for shortfall in texts:
            out.print(cell(f"{name}: {shortfall}", style="red"), soft_wrap=True)
    say(*tables.other_tiers(found, others))
    say(*tables.edge_failures(found), *tables.fixed_inputs(found), *tables.slow_checks(found))


def _attack(
    tasks: Selection, model: str, wrong: int, right: int, file: Path, workers: int | None, sandbox: str, json: bool
) -> bool:
    """Let a model write versions of targets, and print them. Return whether a version shows that a task needs work."""
    number = len(tasks.chosen) * (wrong + right)
    with open_pool(sandbox, suite_folders(tasks.suite), workers) as pool, progress_bars() as bars:
        attacks = attack_all(tasks.chosen, model, wrong, right, file, pool)
        found = list(bars.track(attacks, number, description="versions"))
    if json:
        print_json([{**item.model_dump(mode="json"), "amiss": item.amiss} for item in found])
    else:
        show(tables.adversary_sheet(found))
        for text in tables.adversary_texts(found):
            console().print(cell(text), soft_wrap=True)
        say(f"versions in {file}: {len(found)}; `lmrbench task accept` adds one to its task")
    return any(item.amiss for item in found)
