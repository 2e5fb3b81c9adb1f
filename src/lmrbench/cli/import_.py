"""`lmrbench import`: tasks of the public edition, as a suite."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from lmrbench.cli.options import JsonOption, print_json
from lmrbench.cli.terminal import console, progress, say, warn
from lmrbench.report.render.tables import in_one_line, sheet, show


def import_(
    edition: Annotated[
        Literal["lmr-bench"],
        typer.Argument(metavar="lmr-bench", help="What is imported: the public edition of LMR-BENCH."),
    ],
    source: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="A clone of its repository, its folder benchmark, or that one's datasets."),
    ],
    to: Annotated[Path, typer.Option("--to", metavar="SUITE", help="The suite folder to make, new or empty.")],
    json: JsonOption = False,
) -> None:
    """Make a suite of the public edition's benchmarks, as far as that can be done.

    Each golden is put into the research code, so that masks are computed, and goldens, unit tests and bytecode stay
    behind. Nothing of the clone is run. All commands then read the suite with --suite SUITE.

    A task gets a check of ordinary cases where its function can be observed without its repository: `lmrbench grade`
    grades it. The others can be listed, shown, exported, collected and judged. What was left out is listed with the
    reason.

    Exits with 1, and writes nothing, if no task could be made.
    """
    from lmrbench.integrations.lmr_bench.importing import Remark, import_edition

    with progress() as bars:
        bar = bars.add_task("benchmarks", total=None)
        found = import_edition(source, to, lambda done, total: bars.update(bar, completed=done, total=total))
    if json:
        print_json(found.model_dump(mode="json"))
    else:
        rows = [(item.task, item.category, item.check or "none", item.target) for item in found.tasks]
        columns = ("task", "category", "check", "target")
        show(sheet(f"{_counted(len(rows), 'task')} imported", columns, rows, spare=("category", "target")), console())

        def listed(title: str, remarks: tuple[Remark, ...]) -> None:
            lines = [(item.where, in_one_line(item.reason, 400)) for item in remarks]
            if lines:
                show(sheet(title, ("where", "reason"), lines), console())

        listed("Left out", found.left_out)
        listed("To know of what was imported", found.remarks)
    if not found.tasks:
        warn(f"{source}: no task could be made, and nothing was written")
        raise typer.Exit(1)
    if not json:
        checked = sum(bool(item.check) for item in found.tasks)
        say(f"{to}: {_counted(len(found.tasks), 'task')}, of which {checked} can be graded; lmrbench list --suite {to}")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
