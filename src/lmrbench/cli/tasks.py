"""`lmrbench list`, `show` and `collect`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from lmrbench.authoring.audit.certificate import read_certificate
from lmrbench.authoring.overview import suite_page
from lmrbench.cli import options
from lmrbench.cli.grading import select, select_one
from lmrbench.cli.terminal import console, print_json, say, show, warn
from lmrbench.errors import UsageError
from lmrbench.report.render.task import task_facts, task_parts
from lmrbench.report.sheets.suite import summary as summarized
from lmrbench.report.sheets.suite import tasks_facts, tasks_sheet, tiers_line, tiers_warning
from lmrbench.runs.submissions import collect_into
from lmrbench.tasks.loading import load_facts


def list_tasks(
    patterns: options.Patterns = None,
    tier: options.TierName = "function",
    summary: Annotated[bool, Option("--summary", help="Show the number and sizes of tasks by category.")] = False,
    figure: Annotated[
        Path | None, Option(metavar="FILE", help="With --summary: also draw the summary to an .svg, .png or .pdf file.")
    ] = None,
    suite: options.Suite = None,
    json: options.Json = False,
    markdown: Annotated[bool, Option("--markdown", help="Print the tasks as Markdown, as in docs/suite.md.")] = False,
) -> None:
    """List the tasks of a suite, or summarize them.

    The digest of the suite covers everything that solving and grading its tasks depend on. Results for different
    digests are not comparable.
    """
    if figure is not None and not summary:
        raise UsageError("--figure needs --summary")
    found = select(suite, patterns, tier)
    if summary:
        counts = summarized(found.every, found.chosen, load_facts(found.suite))
        if figure is not None:
            counts.draw(figure)
            if not json:
                say(f"{figure}: written")
        if json:
            print_json(counts.facts)
        else:
            show(*counts.sheets)
            say(counts.line)
    elif markdown:
        print(suite_page(found.chosen), end="")
    elif json:
        print_json(tasks_facts(found.chosen))
    else:
        show(tasks_sheet(found.chosen, tier))
        say(tiers_line(found.every))
        what = "do not give tasks of several tiers to the same solver"
        if warning := tiers_warning(found.chosen, what):
            say(warning)


def show_task(
    task_id: Annotated[str, Argument(metavar="TASK", help="A task id, such as dpo/preference_loss.")],
    suite: options.Suite = None,
    json: options.Json = False,
) -> None:
    """Show one task: its paper, instruction and masked function."""
    task = select_one(suite, task_id)
    certificate = read_certificate(task)
    if json:
        print_json(task_facts(task, certificate))
        return
    out = console()
    for part in task_parts(task, certificate):
        out.print(part)


def collect(
    path: Annotated[
        Path,
        Argument(
            help="A workspace, a folder of workspaces as lmrbench export writes it, a Python file, a .diff or .patch, "
            "or a file with a model's answer; - reads standard input."
        ),
    ],
    system: Annotated[str, Option(help="The name of the system, as shown in tables.")],
    task: Annotated[
        str | None, Option("--task", "-t", help="The task; by default the last two parts of the path of a workspace.")
    ] = None,
    sample: Annotated[int, Option(min=0, help="The number of the answer, if the system has several.")] = 0,
    to: Annotated[Path, Option("--to", metavar="FILE", help="The file of submissions to append to.")] = Path(
        "submissions.jsonl"
    ),
    suite: options.Suite = None,
) -> None:
    """Collect answers into a file of submissions.

    Grading takes only the targets, and the code that they need, from an answer. An answer replaces an earlier one of
    the same system, task and sample. Workspaces in which nothing was filled in are left out. If no workspace remains,
    the file is not changed and the command exits with 2.
    """
    filled_in, replaced = collect_into(to, path, lambda name: select_one(suite, name), task, system, sample, warn)
    for item in filled_in:
        done = f"replaced in {to}; use --sample to keep both" if item.answer in replaced else f"appended to {to}"
        say(f"{item.task} of {item.system} {done}")
