"""`lmrbench collect`: what came back from a solver?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench.cli.options import SuiteOption, load_task
from lmrbench.cli.terminal import say, warn
from lmrbench.text import counted

if TYPE_CHECKING:
    from lmrbench.tasks.submission import Submission


def collect(
    path: Annotated[
        Path,
        typer.Argument(
            help="A workspace, a folder of workspaces as lmrbench export writes it, a Python file, a .diff or .patch, "
            "or a model's answer; - reads one."
        ),
    ],
    system: Annotated[str, typer.Option(help="Who solved it, as tables will name it.")],
    task: Annotated[
        str | None,
        typer.Option("--task", "-t", help="The task; for a workspace, by default its folder's last two names."),
    ] = None,
    sample: Annotated[int, typer.Option(min=0, help="Which of several answers of this system it is.")] = 0,
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="The file of submissions to append to.")] = Path(
        "submissions.jsonl"
    ),
    suite: SuiteOption = None,
) -> None:
    """Take in answers and append them to a file of submissions; only the targets will be taken from them.

    An answer takes the place of an earlier one of the same system, task and sample. Workspaces in which nothing was
    filled in are left out; where there are no others, the file stays as it is, and the command exits with 2.
    """
    from lmrbench.errors import UsageError

    exported = [] if task else sorted(item.parent for item in path.glob("*/*/instruction.md"))
    answers = [_taken_in(folder, task, system, sample, suite) for folder in exported or [path]]
    filled_in = [submission for submission, untouched in answers if not untouched]
    if not filled_in:
        what = f"none of {counted(len(exported), 'workspace')} was" if exported else "nothing was"
        raise UsageError(f"{path}: {what} filled in; nothing was written to {to}")
    _write(filled_in, to)


def _taken_in(path: Path, task: str | None, system: str, sample: int, suite: Path | None) -> tuple[Submission, bool]:
    """One answer, and whether nothing was filled in. Says what is odd about it."""
    from lmrbench.grading.reading import collect as take_in
    from lmrbench.grading.reading import collect_text, read_submission
    from lmrbench.tasks.collect import is_untouched
    from lmrbench.tasks.submission import MAX_CODE_BYTES
    from lmrbench.tasks.workspace import masked_files

    found = load_task(suite, task or "/".join(path.resolve().parts[-2:]))
    if str(path) == "-":
        text = sys.stdin.buffer.read(MAX_CODE_BYTES + 1)
        submission = collect_text(found, text, "standard input", system, sample)
    else:
        submission = take_in(found, path, system, sample)
    answered, warnings = read_submission(found, submission)
    for warning in (*submission.warnings, *warnings):
        warn(warning)
    masked = masked_files(found)
    untouched = is_untouched(found, submission) or all(answered[file] == masked[file] for file in found.goal_files)
    if untouched:
        warn(f"{path}: the masked functions are as they were exported; left out")
    return submission, untouched


def _write(submissions: list[Submission], to: Path) -> None:
    """Write submissions, each in the place of an earlier one of the same answer, and say which were there."""
    from lmrbench.files import write_whole
    from lmrbench.jsonl import append_line, read_lines
    from lmrbench.tasks.submission import ForeignSubmission

    kept = {item.answer: item for item in (line.submission() for line in read_lines(to, ForeignSubmission))}
    replaced = [item for item in submissions if item.answer in kept]
    if replaced:
        kept |= {item.answer: item for item in submissions}
        write_whole(to, "".join(item.model_dump_json() + "\n" for item in kept.values()).encode())
    else:
        for item in submissions:
            append_line(to, item)
    for item in submissions:
        done = f"replaced in {to}; --sample keeps several" if item in replaced else f"appended to {to}"
        say(f"{item.task} of {item.system} {done}")
