"""`lmrbench why`: why did an answer of a run fail?"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench.cli.options import JsonOption, SuiteOption, load_task, print_json
from lmrbench.cli.tables import sheet, show
from lmrbench.cli.terminal import cell, console, say
from lmrbench.printable import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.syntax import Syntax

    from lmrbench.tasks.model import Task
    from lmrbench.tasks.submission import Submission

# Two pieces of code stand beside each other where each has that many columns.
BESIDE = 84


def why(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task id, such as dpo/preference_loss.")],
    system: Annotated[str | None, typer.Option(help="Whose answer, where several systems are in the run.")] = None,
    sample: Annotated[int, typer.Option(min=0, help="Which answer of the system.")] = 0,
    suite: SuiteOption = None,
    json: JsonOption = False,
) -> None:
    """Show why an answer failed: its failed cases with their reasons, and its code beside the masked function.

    The code is what was taken of the answer; where nothing could be taken of it, the answer as it came.
    """
    from lmrbench.errors import UsageError
    from lmrbench.grading.runs import read_run

    found = load_task(suite, task)
    held = read_run(run)
    grades = [item for item in held.grades if item.task == found.id and system in (None, item.system)]
    answers = [item for item in grades if item.sample == sample]
    named = ", ".join(sorted({f"{item.system} (sample {item.sample})" for item in grades})) or "none"
    if len({item.system for item in answers}) != 1:
        which = "several systems have" if answers else f"there is no graded sample {sample}"
        raise UsageError(f"{run}: {which} of {found.id}; name one with --system and --sample: {named}")
    grade = answers[-1]
    handed_in = {(item.system, item.task, item.sample): item for item in held.submissions}
    failed = [case for case in grade.cases if case.verdict != "match"]
    if json:
        cases = [case.model_dump(mode="json") for case in failed]
        print_json({"grade": grade.model_dump(mode="json", exclude={"cases"}), "failed_cases": cases})
        return
    out = console()
    verdict = "passed" if grade.passed else "failed"
    say(f"{found.id}, sample {sample} of {grade.system}: {verdict}, {len(failed)} of {len(grade.cases)} cases fail")
    for warning in grade.warnings:
        say(f"  {warning}")
    print()
    rows = [(case.seed, case.name or case.case, case.verdict, case.reason.strip()) for case in failed]
    if rows:
        columns = ["seed", "case", "verdict", "reason"]
        show(sheet("Failed cases", columns, rows, numbers=["seed"], spare=["seed"]), out)
    submission = handed_in.get((grade.system, found.id, sample))
    if submission is None:
        say(f"{run}: the answer itself is not there")
    else:
        _show_code(out, found, submission)


def _show_code(out: Console, task: Task, submission: Submission) -> None:
    """For each target the masked function and what was taken of the answer, with the lines of their files.

    Of files that are handed in whole, what was changed.
    """
    from rich.syntax import Syntax

    from lmrbench.errors import SubmissionError
    from lmrbench.grading.reading import read_targets
    from lmrbench.tasks.workspace import target_texts, unsolved_files

    unsolved = unsolved_files(task)
    try:
        answered, taken = read_targets(task, submission)
    except SubmissionError as error:
        say(f"nothing was taken of this answer: {error}")
        code = submission.code if isinstance(submission.code, str) else "\n\n".join(submission.code.values())
        out.print(_code(code, 1))
        return
    if not task.targets:
        out.print(Syntax(printable(_diff(task.files.shown, answered), lines=True), "diff", background_color="default"))
        return
    masked = target_texts(task, unsolved)
    for target in task.targets:
        pieces = [(title, *texts[target]) for title, texts in (("masked", masked), ("answer", taken))]
        if out.width >= 2 * BESIDE:
            from rich.table import Table

            grid = Table.grid(padding=(0, 2), expand=True)
            grid.add_row(*(cell(f"{target} ({title})", style="bold") for title, _, _ in pieces))
            grid.add_row(*(_code(text, line) for _, line, text in pieces))
            out.print(grid)
        else:
            for title, line, text in pieces:
                out.print(cell(f"{target} ({title})", style="bold"))
                out.print(_code(text, line))
        out.print()


def _diff(shown: Mapping[str, bytes], answered: Mapping[str, bytes]) -> str:
    """What an answer changed of the files that it was shown."""
    lines: list[str] = []
    for path, data in shown.items():
        before, after = (item.decode("utf-8", "replace").splitlines() for item in (data, answered[path]))
        lines += difflib.unified_diff(before, after, path, path, lineterm="", n=1)
    return "\n".join(lines) or "nothing was changed"


def _code(text: str, first_line: int) -> Syntax:
    from rich.syntax import Syntax

    return Syntax(
        printable(text, lines=True),
        "python",
        line_numbers=True,
        start_line=first_line,
        word_wrap=True,
        background_color="default",
    )
