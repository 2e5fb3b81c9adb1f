"""`lmrbench forge`: which changes of a paper's repository can be found by what they log?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench.cli.options import JsonOption, SandboxOption, SuiteOption, WorkersOption, print_json
from lmrbench.cli.terminal import console, progress, say
from lmrbench.report.render.tables import sheet, show
from lmrbench.sandbox.protocol import DEFAULT_SANDBOX
from lmrbench.tasks.loading import suite_folder, suite_folders

if TYPE_CHECKING:
    from lmrbench.grading.forging import Effect
    from lmrbench.tasks.model import Draw


def forge(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="A paper with a pool of deviations, such as dpo.")],
    deviations: Annotated[
        int | None, typer.Option("--deviations", "-k", min=1, help="Draw so many; without it, try each of the pool.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Of the draw.")] = 0,
    sandbox: SandboxOption = DEFAULT_SANDBOX,
    workers: WorkersOption = None,
    suite: SuiteOption = None,
    json: JsonOption = False,
) -> None:
    """Draw deviations of a faithful repository for a forensic task, or try the pool that they are drawn from.

    Without --deviations each deviation of the paper's deviations.toml is run alone: how many of the logged metrics
    does it move? Exits with 1 if one does not run or train, moves nothing, or can't be told from another.

    With --deviations K the first fair draw is looked for: the changed program trains, each of its changes alone moves
    the metrics well above the tolerance, and no part of the draw, no draw with one change exchanged, and no single
    change gives the same logs. What is printed is the answer of the task; a draw is a function of the pool, the
    repository, K, the seed and the attempt, so whoever has the suite can compute it.
    """
    from lmrbench.errors import TaskError
    from lmrbench.grading.forging import effects, fair_draw
    from lmrbench.sandbox.registry import open_pool
    from lmrbench.tasks.loading import load_suite
    from lmrbench.tasks.tiers.forensic import deviation_pool

    folder = suite_folder(suite)
    task = next((item for item in load_suite(folder) if item.paper.slug == paper), None)
    if task is None:
        raise TaskError(f"no paper is named {paper!r}; `lmrbench list` shows them all")
    refused: list[tuple[int, str]] = []
    with open_pool(sandbox, suite_folders(folder), workers) as pool, progress() as bars:
        bar = bars.add_task("forging", total=None)

        def advance(stage: str, done: int, total: int) -> None:
            bars.update(bar, description=stage, completed=done, total=total)

        if deviations is None:
            found = effects(task, pool, advance)
        else:
            draw = fair_draw(
                task,
                deviation_pool(task),
                deviations,
                seed,
                pool,
                advance,
                lambda draw, why: refused.append((draw.attempt, why)),
            )
    if deviations is not None:
        _print_draw(paper, draw, refused, json)
        return
    if json:
        print_json([item.model_dump(mode="json") for item in found])
    else:
        _print_pool(paper, found)
    if any(item.fault for item in found):
        raise typer.Exit(1)


def _print_draw(paper: str, draw: Draw, refused: list[tuple[int, str]], json: bool) -> None:
    from lmrbench.tasks.tiers.forensic import forensic_name

    if json:
        reasons = [{"attempt": attempt, "why": why} for attempt, why in refused]
        print_json({**draw.model_dump(mode="json"), "refused": reasons})
        return
    for attempt, why in refused:
        say(f"attempt {attempt} is not fair: {why}")
    say(f"{paper}/{forensic_name(draw.count, draw.seed)}: {', '.join(draw.deviations)}")
    say(f"separable: {draw.separable:.0%} of the changes each explain some metric alone")
    say(f"to publish it: {{ count = {draw.count}, seed = {draw.seed}, attempt = {draw.attempt} }}")


def _print_pool(paper: str, found: list[Effect]) -> None:
    rows = [(item.name, item.file, f"{item.moved}/{item.metrics}", item.fault or "-", item.why) for item in found]
    columns = ("deviation", "file", "metrics moved", "fault", "why")
    title = f"{paper}: {len(found)} deviations"
    show(sheet(title, columns, rows, numbers=("metrics moved",), spare=("why", "file")), console())
