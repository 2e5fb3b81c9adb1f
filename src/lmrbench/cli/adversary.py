"""`lmrbench audit --adversary` and `lmrbench accept`: what a model gets past a check, and taking it over."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench.cli.options import SuiteOption, load_task
from lmrbench.cli.terminal import console, progress, say
from lmrbench.report.render.cells import cell
from lmrbench.report.render.tables import sheet, show

if TYPE_CHECKING:
    from lmrbench.authoring.adversaries import Ask, Finding
    from lmrbench.tasks.model import Task


def attack_with_progress(
    tasks: list[Task],
    model: str,
    wrong: int,
    right: int,
    file: Path,
    workers: int | None,
    suite: Path,
    sandbox: str,
) -> list[Finding]:
    """Let a model attack tasks of one suite, with a progress bar on standard error."""
    from lmrbench.authoring.adversaries import SEEDS, attack
    from lmrbench.authoring.audit.laboratory import Laboratory
    from lmrbench.sandbox.registry import open_pool
    from lmrbench.tasks.loading import suite_folders

    ask = _asking(model)
    found: list[Finding] = []
    with open_pool(sandbox, suite_folders(suite), workers) as pool, progress() as bars:
        for task in tasks:
            bar = bars.add_task(task.id, total=wrong + right)
            laboratory = Laboratory(task, range(SEEDS), pool, lambda *_: None)
            for item in attack(laboratory, model, ask, wrong, right, file):
                found.append(item)
                bars.advance(bar)
    return found


def print_findings(found: list[Finding], file: Path) -> None:
    """A table of counts, then each finding that asks for a mended task."""
    out, rows = console(), []
    for task in dict.fromkeys(item.task for item in found):
        wrong = [item for item in found if item.task == task and item.proposal.kind == "wrong"]
        right = [item for item in found if item.task == task and item.proposal.kind == "right"]
        rejected = sum(not item.passed for item in wrong)
        alike = sum(item.passed and not item.amiss for item in wrong)
        accepted = sum(item.passed for item in right)
        rows.append((task, f"{rejected}/{len(wrong)}", alike, f"{accepted}/{len(right)}"))
    columns = ("task", "wrong rejected", "wrong, not told apart", "right accepted")
    show(sheet("", columns, rows, numbers=columns[1:]), out)
    for item in (item for item in found if item.amiss):
        if item.proposal.kind == "wrong":
            text = f"passes and violates: {item.proposal.sentence}\n  {item.told_apart_by}"
        else:
            text = f"is offered as right and fails: {item.rejected_by}"
        out.print(cell(f"{item.task} {item.proposal.kind} {item.number} {text}"), soft_wrap=True)
    say(f"{len(found)} versions in {file}; `lmrbench accept` takes one over")


def accept(
    file: Annotated[Path, typer.Argument(help="What `lmrbench audit --adversary` wrote.")],
    task: Annotated[str, typer.Argument(metavar="TASK", help="The task, as dpo/preference_loss.")],
    number: Annotated[int, typer.Argument(min=0, help="The number of the version, as the list of findings shows it.")],
    name: Annotated[str, typer.Argument(help="What the version is called from now on, as beta_ignored.")],
    suite: SuiteOption = None,
) -> None:
    """Take over a version that an adversary wrote: into wrong/ or rewrites/ of its task, where every audit tries it.

    Read it first: what stands there is part of the task.
    """
    from pydantic import TypeAdapter, ValidationError

    from lmrbench.authoring.adversaries import Finding
    from lmrbench.authoring.adversaries import accept as take_over
    from lmrbench.errors import RecordError
    from lmrbench.jsonl import read_lines
    from lmrbench.tasks.model import Name

    chosen = load_task(suite, task)
    try:
        valid = TypeAdapter(Name).validate_python(name)
    except ValidationError as error:
        raise RecordError(f"{name!r} is no name: small letters, digits and underscores are") from error
    found = [item for item in read_lines(file, Finding) if (item.task, item.number) == (chosen.id, number)]
    if not found:
        raise RecordError(f"{file}: there is no version {number} of {chosen.id}")
    print(take_over(chosen, found[-1], valid))


def _asking(model: str) -> Ask:
    """A function that asks the model; an answer that was paid for is kept by Inspect's cache."""
    import asyncio

    from inspect_ai.model import CachePolicy, get_model

    from lmrbench.errors import ServiceError

    def ask(prompt: str) -> str:
        try:
            output = asyncio.run(get_model(model, memoize=False).generate(prompt, cache=CachePolicy(expiry=None)))
        except Exception as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise ServiceError(f"{model} did not answer: {lines[0]}") from error
        return output.completion

    return ask
