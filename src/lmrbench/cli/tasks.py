"""`lmrbench list`, `show` and `collect`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmrbench.authoring.audit.certificate import read_certificate
from lmrbench.authoring.overview import suite_page
from lmrbench.authoring.sizes import category_counts, size
from lmrbench.cli.grading import Tasks, select, select_one
from lmrbench.cli.options import JsonOption, PatternsArgument, SuiteOption, TierOption, print_json
from lmrbench.cli.terminal import console, say, show, warn
from lmrbench.errors import UsageError
from lmrbench.report.sheets.suite import summary_sheets, tasks_sheet, tiers_line, tiers_warning
from lmrbench.runs.submissions import collected, exported_workspaces, put
from lmrbench.tasks.digests import audit_digest, grading_digest, suite_digest
from lmrbench.tasks.loading import load_facts, suite_name
from lmrbench.tasks.model import TaskEntry
from lmrbench.text import counted


def list_tasks(
    patterns: PatternsArgument = None,
    tier: TierOption = "function",
    summary: Annotated[
        bool, typer.Option("--summary", help="Show the number of tasks of each category, and their sizes, instead.")
    ] = False,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --summary: also draw it, as FILE.svg, .png or .pdf.")
    ] = None,
    suite: SuiteOption = None,
    json: JsonOption = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the page docs/suite.md.")] = False,
) -> None:
    """List the tasks of a suite, or summarize them.

    The digest of the suite covers what every task asks and how it is graded: results under another digest are of
    another suite.
    """
    if figure is not None and not summary:
        raise UsageError("--figure goes with --summary")
    found = select(suite, patterns, tier)
    if summary:
        _summarize(found, figure, json)
        return
    if markdown:
        print(suite_page(found.chosen), end="")
        return
    if json:
        facts = [
            {
                "id": task.id,
                "tier": task.tier,
                "category": task.category,
                "other_tiers": task.other_tiers,
                "targets": [str(target) for target in task.targets],
                "paper": task.paper.model_dump(mode="json"),
            }
            for task in found.chosen
        ]
        print_json(facts)
        return
    show(tasks_sheet(found.chosen, tier))
    say(tiers_line(found.every))
    if warning := tiers_warning(
        found.chosen,
        "the workspace of one may hold the functions that another asks for, so do not give tasks of several tiers to "
        "one solver",
    ):
        say(warning)


def _summarize(found: Tasks, figure: Path | None, json: bool) -> None:
    counts = category_counts(found.chosen, load_facts(found.suite))
    sizes = {task.id: size(task) for task in found.chosen}
    papers = len({task.paper.slug for task in found.chosen})
    # The digest is that of all tiers, as in run.json.
    digest = suite_digest(found.every)
    if figure is not None:
        from lmrbench.report.figures import draw_suite

        draw_suite(
            {item.title: (item.tasks, item.published) for item in counts},
            {name: (item.masked_lines, item.repository_lines) for name, item in sizes.items()},
            figure,
        )
        if not json:
            say(f"{figure}: written")
    if json:
        print_json(
            {
                "suite": suite_name(found.chosen) or None,
                "digest": digest,
                "papers": papers,
                "categories": [item.model_dump() for item in counts],
                "tasks": {name: item.model_dump() for name, item in sizes.items()},
            }
        )
        return
    show(*summary_sheets(counts, list(sizes.values())))
    holds = f"{counted(len(found.chosen), 'task')} of {counted(papers, 'paper')}"
    say(f"{suite_name(found.chosen) or 'a suite'}: {holds}, digest {digest}")


def show_task(
    task_id: Annotated[str, typer.Argument(metavar="TASK", help="A task id, such as dpo/preference_loss.")],
    suite: SuiteOption = None,
    json: JsonOption = False,
) -> None:
    """Show one task: its paper, instruction and masked function."""
    task = select_one(suite, task_id)
    certificate = read_certificate(task)
    if json:
        facts = task.model_dump(mode="json", include={"paper", *TaskEntry.model_fields} - {"targets"})
        print_json(
            {
                "id": task.id,
                "targets": [str(item) for item in task.targets],
                **facts,
                "rewrites": len(task.files.rewrites),
                "wrong": len(task.files.wrong),
                "grading_digest": grading_digest(task),
                "audit_digest": audit_digest(task),
                "certificate": certificate.model_dump(mode="json", exclude={"task", "digest"}) if certificate else None,
            }
        )
        return
    from lmrbench.report.render.task import task_parts

    out = console()
    for part in task_parts(task, certificate):
        out.print(part)


def collect(
    path: Annotated[
        Path,
        typer.Argument(
            help="A workspace, a folder of workspaces as lmrbench export writes it, a Python file, a .diff or .patch, "
            "or a model's answer; - reads one."
        ),
    ],
    system: Annotated[str, typer.Option(help="The name of the system in tables.")],
    task: Annotated[
        str | None,
        typer.Option("--task", "-t", help="The task; for a workspace, by default its folder's last two names."),
    ] = None,
    sample: Annotated[int, typer.Option(min=0, help="The number of the answer, if the system has several.")] = 0,
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="The file of submissions to append to.")] = Path(
        "submissions.jsonl"
    ),
    suite: SuiteOption = None,
) -> None:
    """Collect answers into a file of submissions.

    Only the targets will be taken from an answer when it is graded. It replaces an earlier one of the same system, task
    and sample. Workspaces in which nothing was filled in are left out; if there are no others, the file stays as it is
    and the command exits with 2.
    """
    exported = [] if task else exported_workspaces(path)
    filled_in = []
    for folder in exported or [path]:
        found = select_one(suite, task or "/".join(folder.resolve().parts[-2:]))
        answer = collected(found, folder, system, sample)
        for warning in answer.warnings:
            warn(warning)
        if answer.untouched:
            warn(f"{folder}: the masked functions are as they were exported; left out")
        else:
            filled_in.append(answer.submission)
    if not filled_in:
        what = f"none of {counted(len(exported), 'workspace')} was" if exported else "nothing was"
        raise UsageError(f"{path}: {what} filled in; nothing was written to {to}")
    replaced = put(to, filled_in)
    for item in filled_in:
        done = f"replaced in {to}; --sample keeps several" if item.answer in replaced else f"appended to {to}"
        say(f"{item.task} of {item.system} {done}")
