"""`lmrbench task new`, `mask`, `results`, `forge`, `accept` and `import`."""

from __future__ import annotations

import json as json_
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from lmrbench.authoring.adversaries import accept as accept_finding
from lmrbench.authoring.adversaries import finding_in
from lmrbench.authoring.audit.suite import quick_shortfalls
from lmrbench.authoring.listing.versions import NewDefinition, find_new, new_since
from lmrbench.authoring.new import masking
from lmrbench.authoring.new.making import NewTask, make, parsed, parsed_target
from lmrbench.cli import options
from lmrbench.cli.grading import select_one
from lmrbench.cli.terminal import print_json, say, show, warn
from lmrbench.errors import UsageError
from lmrbench.grading.forging import effects, fair_draw, write_results
from lmrbench.progress import progress_bars, staged
from lmrbench.report.sheets.additions import additions_sheets
from lmrbench.report.sheets.audit import draw_facts, draw_lines, effects_sheet
from lmrbench.sandbox.protocol import DEFAULT_SANDBOX
from lmrbench.sandbox.registry import open_pool
from lmrbench.tasks.loading import load_suite, suite_folder, suite_folders
from lmrbench.tasks.model import Draw, DrawId, Target, Task
from lmrbench.tasks.selection import paper_task
from lmrbench.tasks.tiers.forensic import deviation_pool
from lmrbench.tasks.workspace import goal_signatures
from lmrbench.text import counted, printable


def new(
    places: Annotated[
        list[str] | None,
        Argument(
            metavar="[REPOSITORY] [TARGET]",
            help="A folder with Python files (omit it with --source), and the function to mask, such as "
            "simclr.py::SimCLR.info_nce_loss.",
        ),
    ] = None,
    to: Annotated[
        Path | None, Option("--to", metavar="DIR", help="The suite folder; the task is written to DIR/SLUG.")
    ] = None,
    slug: Annotated[
        str | None, Option("--slug", metavar="SLUG", help="The paper's short name, such as simclr.")
    ] = None,
    source: Annotated[
        str | None,
        Option(
            metavar="SOURCE",
            help="Published code instead of REPOSITORY: NAME==VERSION of a package, ADDRESS@COMMIT of a Git "
            "repository, or the address of a .tar.gz or .zip. With --since, NAME alone means the newest version.",
        ),
    ] = None,
    since: Annotated[
        str | None, Option(metavar="VERSION", help="An earlier version of the package: find what was added since then.")
    ] = None,
    command: Annotated[
        str, Option("--command", help="Command to run in the repository. Its calls of the target are recorded.")
    ] = "python experiment.py",
    beside: Annotated[
        list[Path] | None,
        Option("--with", metavar="FILE", help="Script or folder to put into the repository for the run; repeatable."),
    ] = None,
    paper: Annotated[
        Path | None, Option("--paper", metavar="FILE", help="The paper, as PDF or text, for an outline of the summary.")
    ] = None,
    category: Annotated[
        str, Option(help="One of the categories in suite.toml; any name in a suite without that file.")
    ] = "training_objectives",
    json: options.Json = False,
) -> None:
    """Make a task from a repository and a function.

    lmrbench copies the repository, records calls of the target, proposes and audits a check, and lists the work that is
    left to do. With --source, nothing is copied: task.toml pins the published code by its digest, and the code is
    fetched into the cache. Existing files are kept, so the command can be run again.

    With --source, --since and --to, TARGET must be new in the package. Without --to, no task is made and no code of the
    package is run: the command prints the code of TARGET or, without TARGET, lists the functions, classes and methods
    that are new, beginning with those that name a paper. Only --json lists short definitions.
    """
    if since is not None and source is None:
        raise UsageError("--since needs a package; name it with --source NAME")
    if source is not None and since is not None and not places:
        _list_new(source, since, json)
        return
    if json:
        raise UsageError("--json needs --source and --since, and no TARGET")
    repository, target = parsed(places or (), source)
    if source is not None and since is not None:
        with staged() as (_, advance):
            definition = find_new(source, since, target, advance)
        if to is None and slug is None:
            _print_definition(target, definition)
            return
        source, released = definition.package, definition.release
    else:
        released = None
    if to is None or slug is None:
        raise UsageError("to make a task, name its suite and its paper with --to DIR --slug SLUG")
    with staged() as (_, advance):
        wanted = NewTask(to, slug, category, target, repository, source, command, tuple(beside or ()), paper, released)
        task, decisions = make(wanted, say, advance)
    _print_left_to_do(task, decisions)


def _list_new(source: str, since: str, json: bool) -> None:
    """Print the definitions that are new in a version of a package."""
    with staged() as (_, advance):
        found = new_since(source, since, advance)
    if json:
        print_json(found.model_dump(mode="json"))
    else:
        show(*additions_sheets(found))


def _print_definition(target: Target, definition: NewDefinition) -> None:
    """Print a new definition, below a line that names the package and the first version that has it."""
    first = definition.release
    say(f"# {definition.package}: {target}" + (f", first in {first.version} ({first.date})" if first else ""))
    print(_as_text(definition.text))


def _print_left_to_do(task: Task, decisions: Sequence[str]) -> None:
    """Print the masked target of a new task and the work that is left; then audit the task and print what it lacks."""
    print(f"\nThe masked target:\n\n{_as_text(goal_signatures(task)[task.targets[0]])}")
    command = f"lmrbench task audit {task.paper.slug} --suite {task.folder.parent} --quick"
    print(f"\nLeft to do (`{command}` shows the mutants that survive):")
    # These come before the audit, which can take minutes if the repository is a whole package.
    say(*(f"- {item}" for item in decisions))
    with staged() as (_, advance):
        shortfalls = quick_shortfalls(task, advance)
    say(*(f"- {item}" for item in shortfalls))


def _as_text(code: str) -> str:
    """Return code for printing, with normalized line ends and escaped control characters."""
    return printable("\n".join(code.splitlines()), lines=True)


def mask(
    repository: Annotated[Path, Argument(metavar="REPOSITORY", help="A folder with Python files.")],
    targets: Annotated[
        list[str], Argument(metavar="TARGET...", help="Functions, such as trainers.py::SimPOTrainer.simpo_loss.")
    ],
    closure: Annotated[bool, Option("--closure", help="Also mask the helpers that only the targets use.")] = False,
    to: Annotated[Path | None, Option("--to", metavar="DIR", help="New folder for the masked repository.")] = None,
) -> None:
    """Mask functions of a repository and show the difference.

    The bodies of the functions are removed, and nothing else is changed. With --to, the masked repository is written,
    and the difference is not shown. The last line lists the targets in the form of task.toml.
    """
    files, masked, chosen = masking.mask_targets(repository, [parsed_target(text) for text in targets], closure)
    if to is not None:
        masking.write_files(to, masked)
    else:
        print(masking.difference(files, masked))
    print(f"targets = {json_.dumps([str(target) for target in chosen])}")


def results(
    papers: Annotated[list[str], Argument(metavar="PAPER...", help="Papers, such as dpo.")],
    sandbox: options.Sandbox = DEFAULT_SANDBOX,
    suite: options.Suite = None,
) -> None:
    """Write results.json, the logged results of the reference's experiment.

    The file contains the results of run(seed) in experiment.py for the published seeds. The experiment runs in a
    sandbox, on one thread and in double precision. Solvers of the method tier see the file; their work is graded with
    other seeds. `lmrbench task audit --tier method` fails if the file is out of date.
    """
    folder = suite_folder(suite)
    every_task = load_suite(folder)
    tasks = [paper_task(every_task, paper) for paper in papers]
    with open_pool(sandbox, suite_folders(folder), 1) as pool, progress_bars() as bars:
        for task in bars.track(tasks, description="experiments"):
            say(str(write_results(task, pool)))


def forge(
    paper: Annotated[str, Argument(metavar="PAPER", help="A paper with a pool of deviations, such as dpo.")],
    deviations: Annotated[
        int | None, Option("--deviations", "-k", min=1, help="Number of deviations to draw; by default, run the pool.")
    ] = None,
    seed: Annotated[int, Option(min=0, max=2**31 - 1, help="Random seed of the draw.")] = 0,
    entangled: Annotated[
        bool, Option("--entangled", help="Draw deviations from few stages instead of as many as possible.")
    ] = False,
    sandbox: options.Sandbox = DEFAULT_SANDBOX,
    workers: options.Workers = None,
    suite: options.Suite = None,
    json: options.Json = False,
) -> None:
    """Draw deviations for a forensic task, or run each deviation of the pool alone.

    Without --deviations, each deviation of the paper's deviations.toml is run alone, and the logged metrics that it
    changes are counted. Exits with 1 if a deviation does not run or train, changes no metric, first affects a different
    stage from the one that the file states, or gives the same logs as another deviation.

    With --deviations K, the first fair draw, which is the answer to the task, is printed. A draw is fair if the changed
    program trains, and if a search that knows the pool finds the draw's changes within 1,000 runs, and no other changes
    that give the same logs. Anyone who has the suite can compute the draw.
    """
    folder = suite_folder(suite)
    task = paper_task(load_suite(folder), paper)
    refused: list[tuple[Draw, str]] = []
    with open_pool(sandbox, suite_folders(folder), workers) as pool, staged() as (_, advance):
        if deviations is None:
            found = effects(task, pool, advance)
        else:
            known, wanted = deviation_pool(task), DrawId(deviations, seed, entangled)
            draw = fair_draw(task, known, wanted, pool, advance, lambda *item: refused.append(item))
    if deviations is not None:
        if json:
            print_json(draw_facts(draw, refused))
        else:
            say(*draw_lines(paper, draw, refused))
        return
    if json:
        print_json([item.model_dump(mode="json") for item in found])
    else:
        show(effects_sheet(paper, found))
    if any(item.fault for item in found):
        raise typer.Exit(1)


def accept(
    file: Annotated[Path, Argument(help="The file that `lmrbench task audit --adversary` wrote.")],
    task: Annotated[str, Argument(metavar="TASK", help="The task, such as dpo/preference_loss.")],
    number: Annotated[int, Argument(min=0, help="The number of the version in the list of findings.")],
    name: Annotated[str, Argument(help="A name for the version, such as beta_ignored.")],
    suite: options.Suite = None,
) -> None:
    """Add an adversary's version of the targets to the task's wrong versions or rewrites.

    Read the version first: it becomes a part of the task, and every later audit of the task runs it.
    """
    chosen = select_one(suite, task)
    print(accept_finding(chosen, finding_in(file, chosen, number), name))


def import_(
    edition: Annotated[Literal["lmr-bench"], Argument(metavar="lmr-bench", help="The public edition of LMR-BENCH.")],
    source: Annotated[
        Path, Argument(metavar="DIR", help="A clone of the repository, or its folder benchmark or benchmark/datasets.")
    ],
    to: Annotated[Path, Option("--to", metavar="SUITE", help="The suite folder to make, new or empty.")],
    runs: Annotated[
        Path | None,
        Option("--runs", metavar="DIR", help="Also write the published records as run folders in DIR, new or empty."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Make a suite from a clone of the public edition of LMR-BENCH.

    Each golden (reference code) is inserted into the research code, and masks are made from the result. Golden files,
    unit tests and bytecode are not copied, and no code of the clone is run.

    If a task's function can be observed without the repository, the task gets a check of ordinary cases and can be
    graded. All other tasks can be listed, shown, exported, collected and judged. Everything that was left out is listed
    with the reason. Exits with 1, and writes nothing, if no task could be made.

    With --runs, the published answers, judgements, labels and test results of each system are written to a run folder.
    `lmrbench report DIR --labels DIR/labels.jsonl` shows the published results, and `lmrbench grade DIR/RUN --suite
    SUITE` grades the published answers again.
    """
    from lmrbench.integrations.lmr_bench.public_runs import import_with_runs
    from lmrbench.report.sheets.imports import imported_sheets

    with staged() as (_, advance):
        found = import_with_runs(source, to, runs, partial(advance, "benchmarks"))
    if json:
        print_json(found.model_dump(mode="json"))
    else:
        show(*imported_sheets(found))
    if not found.tasks:
        warn(f"{source}: no task could be made, and nothing was written")
        raise typer.Exit(1)
    if not json:
        checked = sum(bool(item.check) for item in found.tasks)
        say(
            f"{to}: {counted(len(found.tasks), 'task')}, of which {checked} can be graded; "
            f"list them with lmrbench list --suite {to}"
        )
