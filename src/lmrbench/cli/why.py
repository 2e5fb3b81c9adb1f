"""`lmrbench why`: why did an answer of a run fail, and which ones did?"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench.cli.options import JsonOption, SuiteOption, load_task, print_json
from lmrbench.cli.terminal import console, say
from lmrbench.report.render.cells import cell
from lmrbench.report.render.tables import first_failure, sheet, show
from lmrbench.text import counted, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.syntax import Syntax

    from lmrbench.grading.records import Grade
    from lmrbench.tasks.model import Task
    from lmrbench.tasks.submission import Submission

# Two pieces of code stand beside each other where each has that many columns.
BESIDE = 84


def why(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    task: Annotated[
        str | None,
        typer.Argument(metavar="[TASK]", help="A task id, such as dpo/preference_loss; all failures without one."),
    ] = None,
    system: Annotated[str | None, typer.Option(help="Whose answer, where several systems are in the run.")] = None,
    sample: Annotated[
        int | None, typer.Option(min=0, help="Which answer of the system; by default the first that fails.")
    ] = None,
    suite: SuiteOption = None,
    json: JsonOption = False,
) -> None:
    """List the answers of a run that fail; or show why one failed: its failed cases, and its code beside the mask.

    The code is what was taken of the answer; where nothing could be taken of it, the answer as it came.
    """
    from lmrbench.errors import UsageError
    from lmrbench.runs.folder import read_run

    held = read_run(run)
    if task is None:
        grades = [item for item in held.grades if system in (None, item.system) and sample in (None, item.sample)]
        _list_failures(run, grades, json)
        return
    found = load_task(suite, task)
    grades = [item for item in held.grades if item.task == found.id and system in (None, item.system)]
    answers = [item for item in grades if sample in (None, item.sample)]
    named = ", ".join(sorted({f"{item.system} (sample {item.sample})" for item in grades})) or "none"
    if len({item.system for item in answers}) != 1:
        which = "several systems have answers" if answers else f"there is no such graded answer{_of(system, sample)}"
        raise UsageError(f"{run}: {which} to {found.id}; name one with --system and --sample: {named}")
    answers.sort(key=lambda item: item.sample)
    failing = [item for item in answers if not item.passed]
    grade = (failing or answers)[0]
    handed_in = {(item.system, item.task, item.sample): item for item in held.submissions}
    failed = [case for case in grade.cases if case.verdict != "match"]
    if json:
        cases = [case.model_dump(mode="json") for case in failed]
        print_json({"grade": grade.model_dump(mode="json", exclude={"cases"}), "failed_cases": cases})
        return
    out = console()
    verdict = "passed" if grade.passed else "failed"
    which = ""
    if len(answers) > 1:
        of_all = f"the first that fails; {len(failing)} of {len(answers)} samples do" if failing else "all samples do"
        which = f" ({of_all})"
    count = f"{len(failed)} of {counted(len(grade.cases), 'case')} failed"
    say(f"{found.id}, sample {grade.sample} of {grade.system}: {verdict}{which}; {count}")
    for warning in grade.warnings:
        say(f"  {warning}")
    print()
    rows = [(case.seed, case.name or case.case, case.verdict, case.reason.strip()) for case in failed]
    if rows:
        columns = ["seed", "case", "verdict", "reason"]
        show(sheet("Failed cases", columns, rows, numbers=["seed"], spare=["seed"]), out)
    submission = handed_in.get((grade.system, found.id, grade.sample))
    if submission is None:
        say(f"{run}: the answer itself is not there")
    else:
        _show_code(out, found, submission)


def _of(system: str | None, sample: int | None) -> str:
    return (f" of {system}" if system is not None else "") + (f", sample {sample}" if sample is not None else "")


def _list_failures(run: Path, grades: Sequence[Grade], json: bool) -> None:
    """The answers that fail, each with the first case that does."""
    failed = sorted((item for item in grades if not item.passed), key=lambda item: item.answer)
    if json:
        cases = {"cases", "log", "warnings"}
        print_json(
            {
                "run": str(run),
                "failures": [
                    {
                        **item.model_dump(mode="json", exclude=cases),
                        "matched": item.matched,
                        "cases": len(item.cases),
                        "first_failure": item.first_failure.model_dump(mode="json") if item.first_failure else None,
                    }
                    for item in failed
                ],
            }
        )
        return
    if failed:
        rows = [
            [*item.answer, f"{item.matched}/{len(item.cases)}", first_failure(item.first_failure)] for item in failed
        ]
        columns = ["system", "task", "sample", "cases", "first failure"]
        title = "Answers that fail"
        show(sheet(title, columns, rows, numbers=["sample", "cases"], spare=["cases", "sample", "system"]), console())
        say(f"`lmrbench why {run} TASK` shows all failed cases of an answer")
    say(f"{len(failed)} of {counted(len(grades), 'answer')} failed")


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
