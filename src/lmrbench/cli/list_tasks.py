"""`lmrbench list`: which tasks are there?"""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from lmrbench.cli.options import PATTERN_HELP, JsonOption, SuiteOption, TierOption, load_all_and_some, print_json
from lmrbench.cli.terminal import console, say
from lmrbench.report.render.tables import sheet, show


def list_tasks(
    patterns: Annotated[list[str] | None, typer.Argument(metavar="[TASK]...", help=PATTERN_HELP)] = None,
    tier: TierOption = "function",
    suite: SuiteOption = None,
    json: JsonOption = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the page docs/suite.md.")] = False,
) -> None:
    """List the tasks of the suite."""
    from lmrbench.tasks.digests import suite_digest
    from lmrbench.tasks.loading import suite_name

    every_task, tasks = load_all_and_some(suite, patterns, tier)
    if markdown:
        from lmrbench.authoring.overview import suite_page

        print(suite_page(tasks), end="")
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
            for task in tasks
        ]
        print_json(facts)
        return
    rows = []
    for task in tasks:
        first, *others = task.targets or task.goal_files
        target = str(first) if not others else f"{first} and {len(others)} more"
        rows.append((task.id, task.category, f"{task.paper.venue} {task.paper.year}", target, task.paper.title))
    columns = ("task", "category", "venue", "target", "paper")
    kind = "" if tier == "function" else f" of the tier {tier}"
    title = f"{len(tasks)} tasks{kind}" if len(tasks) != 1 else f"1 task{kind}"
    show(sheet(title, columns, rows, spare=("category", "venue", "target", "paper")), console())
    counts = Counter(item.tier for item in every_task if item.draw is None)
    besides = ", ".join(f"{count} of the tier {name}" for name, count in counts.items() if name != "function")
    besides = f", and {besides}" if besides else ""
    say(
        f"{suite_name(every_task) or 'a suite'}: {counts['function']} tasks{besides}, digest {suite_digest(every_task)}"
    )
    if papers := sorted({task.paper.slug for task in tasks if task.other_tiers}):
        say(
            f"Tiers of one paper answer each other: what a solver sees of one may hold the functions that another asks "
            f"for. Give tasks of several tiers to no one solver: {', '.join(papers)}"
        )
