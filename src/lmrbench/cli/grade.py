"""`lmrbench grade`: which submissions are right?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os.path import normpath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench.cli.options import (
    RUNS,
    AddressOption,
    ExecutorOption,
    FreshOption,
    JsonOption,
    SandboxOption,
    SeedOption,
    SuiteOption,
    TasksOption,
    TierOption,
    WorkersOption,
    executor_of,
    forged_tasks,
    load_all_and_some,
    print_json,
    run_name,
    with_checks,
)
from lmrbench.cli.terminal import console, progress, say, warn
from lmrbench.report.render.tables import Sheet, first_failure, in_one_line, sheet, show
from lmrbench.sandbox.protocol import DEFAULT_SANDBOX
from lmrbench.tasks.loading import suite_folder, suite_folders
from lmrbench.text import counted

if TYPE_CHECKING:
    from lmrbench.grading.plan import GradingPlan
    from lmrbench.grading.records import Grade, Ratio, Result, Timing
    from lmrbench.grading.systems import BuiltIn
    from lmrbench.tasks.model import Task
    from lmrbench.tasks.submission import Answer, Submission


def grade(
    path: Annotated[
        Path | None,
        typer.Argument(
            help="A file of submissions (JSON lines; see `lmrbench collect`), a run folder, or predictions as "
            "SWE-bench has them (JSON lines with instance_id, model_name_or_path, model_patch)."
        ),
    ] = None,
    golden: Annotated[bool, typer.Option("--golden", help="Grade the reference itself; it must pass.")] = False,
    mask: Annotated[bool, typer.Option("--mask", help="Grade the masked repository as it is; it must fail.")] = False,
    rewrites: Annotated[bool, typer.Option("--rewrites", help="Grade the suite's rewrites; they must pass.")] = False,
    wrong: Annotated[bool, typer.Option("--wrong", help="Grade the suite's wrong versions; they must fail.")] = False,
    nearest: Annotated[
        bool, typer.Option("--nearest", help="Grade a solver without a model, which copies the most similar function.")
    ] = False,
    most: Annotated[
        int | None, typer.Option(min=1, help="Grade at most this many rewrites, and wrong versions, of each task.")
    ] = None,
    task: TasksOption = None,
    tier: TierOption = "function",
    fresh: FreshOption = None,
    seed: SeedOption = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, max=100, help="Draw this many fresh seeds; every one must be passed.")
    ] = None,
    blind: Annotated[
        bool,
        typer.Option(
            "--blind",
            help="Write no reasons, logs and names of cases, and draw a fresh seed: for grades that submitters get.",
        ),
    ] = False,
    fail_fast: Annotated[
        bool,
        typer.Option(
            "--fail-fast",
            help="Stop an answer at its first case that fails: quicker, where only passed or failed is asked for.",
        ),
    ] = False,
    speed: Annotated[
        bool,
        typer.Option(
            "--speed",
            help="Also measure how fast the answers that pass are beside the reference, where a task has timed inputs.",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The run folder; by default below runs/. An existing one is resumed."),
    ] = None,
    sandbox: SandboxOption = DEFAULT_SANDBOX,
    workers: WorkersOption = None,
    isolate: Annotated[
        bool,
        typer.Option("--isolate", help="Never run the code of two systems at the same time; see docs/security.md."),
    ] = False,
    executor: ExecutorOption = "local",
    address: AddressOption = None,
    suite: SuiteOption = None,
    json: JsonOption = False,
) -> None:
    """Grade submissions: run each in a sandbox and compare what it returns with what the reference returns.

    Each line of a file of submissions names a system, a task and its code, as `lmrbench collect` writes it:
    {"system": "me", "task": "dpo/preference_loss", "code": "def preference_loss(...): ..."}

    The grades stand in the run folder as they are made. Called again with the same arguments after a kill, grade goes
    on where it stopped. Exits with 1 if a built-in system (golden, mask, rewrites, wrong) was graded otherwise than
    it must be.
    """
    from lmrbench.errors import UsageError
    from lmrbench.grading.draw import fresh_seed, installation_seed
    from lmrbench.grading.plan import GradingPlan
    from lmrbench.grading.records import Result
    from lmrbench.grading.systems import BUILT_INS, MUST_PASS, submissions_of
    from lmrbench.integrations.swebench import holds_predictions, read_predictions
    from lmrbench.runs.folder import (
        SUBMISSIONS,
        drawn_seeds,
        other_answers,
        read_facts,
        read_submissions,
        require_known,
        source_in,
    )

    chosen: list[BuiltIn] = [
        name for name, wanted in zip(BUILT_INS, (golden, mask, rewrites, wrong, nearest), strict=True) if wanted
    ]
    if (path is None) == (not chosen):
        raise UsageError(
            "name a file of submissions or a run folder, or one or more of --golden --mask --rewrites --wrong --nearest"
        )
    if seed is not None and seeds is not None:
        raise UsageError("--seed and --seeds can't be used together")
    where = executor_of(executor, address)
    if blind and speed:
        raise UsageError("--blind and --speed can't be used together: why an answer has no speed tells of the check")
    every_task, tasks = load_all_and_some(suite, task, tier, fresh, sandbox)
    if path is not None:
        by_id = {item.id: item for item in every_task}
        handed_in = read_predictions(path, by_id) if holds_predictions(path) else read_submissions(path)
        if not task:
            every_task, tasks = with_tiers_of(every_task, handed_in, suite_folder(suite), sandbox)
        require_known(path, handed_in, {item.id: item for item in every_task})
    answered = None if path is None else {item.task for item in handed_in}
    with_checks([item for item in tasks if answered is None or item.id in answered])
    tasks = tuple(item for item in tasks if item.files.check)
    names = {item.id for item in tasks}
    if path is not None:
        submissions = [item for item in handed_in if item.task in names]
        folder = out or (path if path.is_dir() else RUNS / run_name(path.stem))
    else:
        offered = (item for name in chosen for item in submissions_of(name, tasks))
        submissions = [item for item in offered if most is None or item.sample < most]
        folder = out or RUNS / "-".join(chosen)
    source = None
    if path is not None and folder.resolve() != path.resolve():
        file = path / SUBMISSIONS if path.is_dir() else path
        others = other_answers(folder, file, handed_in, merge=out is not None)
        if others:
            warn(f"{folder}: also holds {counted(len(others), 'answer')} that {file} does not hold")
        else:
            source = source_in(folder, file)
    elif path is None and out is None and (facts := read_facts(folder)) is not None and facts.source:
        earlier_file = normpath(folder / facts.source)
        raise UsageError(f"{folder}: holds answers of {earlier_file}; name another folder with --out")
    if not submissions:
        raise UsageError(f"{path or ', '.join(chosen)}: no submission for {', '.join(sorted(names))}")
    wanted = 1 if blind and seed is None and seeds is None else seeds
    if wanted is not None:
        # A run that was killed goes on under the seeds that it had drawn.
        earlier = drawn_seeds(folder)
        drawn = earlier if len(earlier) == wanted else tuple(fresh_seed() for _ in range(wanted))
    else:
        drawn = (installation_seed() if seed is None else seed,)
    results: list[Result] = []
    whole: dict[Answer, Grade] = {}
    plan = GradingPlan(
        drawn,
        fresh_seeds=wanted is not None,
        fail_fast=fail_fast,
        blind=blind,
        sandbox=sandbox,
        executor=where,
        workers=workers,
        isolate=isolate,
        shared=path is None,
    )
    for made in grade_with_progress(folder, submissions, every_task, plan, source):
        results.append(Result.of(made))
        if json or (speed and made.passed):
            whole[made.answer] = made
    order = {item.answer: number for number, item in enumerate(submissions)}
    results.sort(key=lambda item: order[item.answer])
    if speed:
        passed = [item for item in whole.values() if item.passed]
        whole |= time_with_progress(folder, passed, submissions, every_task, sandbox, suite_folder(suite))
        results = [Result.of(whole[item.answer]) if item.passed else item for item in results]
    left_out = not_submitted(results, names)
    if json:
        items = [whole[item.answer].model_dump(mode="json") for item in results]
        print_json({"run": str(folder), "seeds": drawn, "not_submitted": left_out, "grades": items})
    else:
        _print_tables(results, folder, sandbox, drawn, chosen)
        for system, missing in left_out.items():
            say(f"{system}: nothing submitted for {len(missing)} of {counted(len(names), 'task')}")
    amiss = [
        item for item in results if item.system in chosen and MUST_PASS.get(item.system, item.passed) != item.passed
    ]
    for item in amiss:
        due, what = ("fail", "passed") if item.passed else ("pass", "failed")
        warn(f"expected {item.system} {item.label} to {due} on {item.task}, but it {what}".replace("  ", " "))
    if amiss:
        raise typer.Exit(1)


def with_tiers_of(
    tasks: tuple[Task, ...], handed_in: list[Submission], suite: Path, sandbox: str
) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
    """All tasks, with the forensic ones that were answered, and those of the tiers of which anything was handed in."""
    from lmrbench.tasks.selection import select_with_draws
    from lmrbench.tasks.tiers.forensic import is_forensic

    answered = {item.task for item in handed_in}
    drawn = sorted(filter(is_forensic, answered))
    made = forged_tasks(select_with_draws(tasks, drawn)[1] if drawn else (), suite, sandbox)
    tiers = {item.tier for item in tasks if item.id in answered}
    return (*tasks, *made), (*(item for item in tasks if item.tier in tiers), *made)


def say_set_aside(folder: Path, count: int) -> None:
    """Tell that grades of a run folder are not trusted."""
    from lmrbench.runs.folder import UNVERIFIED

    grades = "1 grade was" if count == 1 else f"{count} grades were"
    warn(
        f"{folder}: {grades} not made by this installation, or changed since; moved to {UNVERIFIED}, and graded anew "
        "where asked for"
    )


def grade_with_progress(
    folder: Path,
    submissions: list[Submission],
    tasks: tuple[Task, ...],
    plan: GradingPlan,
    source: str | None = None,
) -> Iterator[Grade]:
    """Grade submissions into a run folder with a progress bar; yield the grades as they are done.

    Args:
        folder: the run folder.
        submissions: what is graded.
        tasks: the whole suite.
        plan: the conditions.
        source: see `grade_run`.
    """
    from lmrbench.grading.grader import Grader
    from lmrbench.runs.folder import changed_tasks
    from lmrbench.runs.grading import grade_run

    if folder.is_dir() and (changed := changed_tasks(folder, tasks)):
        warn(f"{folder}: graded before these tasks changed, the grades no longer hold: {', '.join(changed)}")
    with Grader({item.id: item for item in tasks}, plan) as grader, progress() as bars:
        needed = {item.task for item in submissions}
        goldens = bars.add_task("golden", total=len(needed) * len(grader.seeds))
        bar = bars.add_task("submissions", total=len(submissions))
        for item in grade_run(
            folder=folder,
            submissions=submissions,
            grader=grader,
            observed=lambda *_: bars.advance(goldens),
            set_aside=lambda count: say_set_aside(folder, count),
            source=source,
        ):
            bars.advance(bar)
            yield item


def time_with_progress(
    folder: Path,
    grades: list[Grade],
    submissions: list[Submission],
    tasks: tuple[Task, ...],
    sandbox: str,
    suite: Path,
) -> dict[Answer, Grade]:
    """Time answers of a run folder that pass, with a progress bar; the grades with timings, of those that can be timed.

    tasks: the whole suite.
    """
    from lmrbench.grading.speed import has_timed_inputs
    from lmrbench.runs.grading import time_run
    from lmrbench.sandbox.registry import open_pool

    by_id = {item.id: item for item in tasks}
    due = [item for item in grades if has_timed_inputs(by_id[item.task])]
    if not due:
        warn("no answer that passes is to a task with timed inputs, so that there is no speed to measure")
    found = {}
    # One worker, when nothing else is graded.
    with open_pool(sandbox, suite_folders(suite), 1) as pool, progress() as bars:
        bar = bars.add_task("speed", total=len(due))
        for item in time_run(folder, due, submissions, by_id, pool):
            found[item.answer] = item
            bars.advance(bar)
    return found


def not_submitted(grades: Sequence[Result], tasks: set[str]) -> dict[str, list[str]]:
    """For each system the tasks that it handed in nothing for; built-in and other systems alike."""
    found = {item.system: tasks - {other.task for other in grades if other.system == item.system} for item in grades}
    return {system: sorted(missing) for system, missing in found.items() if missing}


def _print_tables(
    grades: Sequence[Result], folder: Path, sandbox: str, seeds: tuple[int, ...], built_in: Sequence[str]
) -> None:
    """Print what came of a grading. built_in: the systems that are graded, where none is a stranger's."""
    out, category = console(), {item.task: item.category for item in grades}
    for item in (_shares("task", {task: task for task in category}, grades), _shares("category", category, grades)):
        show(item, out)
    due = [item.system in built_in and (item.label or item.system == "mask") for item in grades]
    failed = [item for item, known in zip(grades, due, strict=True) if not (item.passed or known)]
    if failed:
        show(sheet("Answers that fail", FAILED, map(_failure, failed), numbers=["cases"], spare=["cases"]), out)
        say(f"`lmrbench why {folder} TASK` shows all failed cases of an answer")
    if timed := [(item, item.timing) for item in grades if item.timing]:
        show(_speeds(timed), out)
    say(f"{counted(len(grades), 'grade')} in {folder} (sandbox {sandbox}, seed {', '.join(map(str, seeds))})")


def _shares(title: str, group: dict[str, str], grades: Sequence[Result]) -> Sheet:
    """How many submissions of each system pass, by group of tasks. group: that of each task."""
    from lmrbench.records import grouped

    systems = list(dict.fromkeys(item.system for item in grades))
    rows = []
    for name, members in grouped(grades, lambda item: group[item.task]).items():
        found = grouped(members, lambda item: item.system)
        counts = [f"{_passed(found[system])}/{len(found[system])}" if system in found else "-" for system in systems]
        rows.append([name, *counts, f"{sum(item.seconds for item in members):.2f}"])
    totals = grouped(grades, lambda item: item.system)
    shares = [f"{_mean_over_tasks(totals[system]):.1%}" for system in systems]
    rows.append(["all", *shares, f"{sum(item.seconds for item in grades):.2f}"])
    columns = [title, *systems, "seconds"]
    return sheet("", columns, rows, numbers=columns[1:], spare=["seconds"], totals=1, by_system=True)


def _passed(grades: Sequence[Result]) -> int:
    return sum(item.passed for item in grades)


def _mean_over_tasks(grades: Sequence[Result]) -> float:
    """The rate of a system, as `lmrbench report` has it."""
    from lmrbench.records import grouped

    shares = [_passed(items) / len(items) for items in grouped(grades, lambda item: item.task).values()]
    return sum(shares) / len(shares)


def _speeds(timed: list[tuple[Result, Timing]]) -> Sheet:
    """How fast each answer is, and how much memory it takes; or why that is not known."""
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
        for item, timing in timed
    ]
    columns = ["system", "task", "answer", "speed", "memory", "rounds", "no speed because"]
    kept = columns if any(row[-1] for row in rows) else columns[:-1]
    return sheet(
        "What the reference took over what the answer took, on timed inputs, with 95% intervals over rounds",
        kept,
        [row[: len(kept)] for row in rows],
        numbers=["speed", "memory", "rounds"],
        spare=["rounds"],
    )


def _ratio(value: Ratio | None) -> str:
    return "none" if value is None else f"{value.median:.3g} ({value.low:.3g} to {value.high:.3g})"


FAILED = ("system", "task", "cases", "first failure")


def _failure(item: Result) -> tuple[str, ...]:
    shown = first_failure(item.first_failure)
    # What was left out of an answer may be why it fails.
    if left_out := "; ".join(line for line in item.warnings if line not in shown):
        shown = f"{shown} (warning: {in_one_line(left_out)})"
    return item.system, item.task, f"{item.matched}/{item.cases}", shown
