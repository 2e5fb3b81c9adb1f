"""`lmrbench collect`: what came back from a solver?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from lmrbench.cli.options import SuiteOption, load_task
from lmrbench.cli.terminal import say, warn


def collect(
    path: Annotated[
        Path, typer.Argument(help="A workspace, a Python file, a .diff or .patch, or a model's answer; - reads one.")
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
    replace: Annotated[
        bool, typer.Option("--replace", help="Put it in the place of an earlier answer with the same number.")
    ] = False,
    suite: SuiteOption = None,
) -> None:
    """Take in one answer and append it to a file of submissions; only the target will be taken from it."""
    from lmrbench.grading.reading import collect as take_in
    from lmrbench.grading.reading import collect_text, read_submission
    from lmrbench.lines import append_line, read_lines
    from lmrbench.storage import write_whole
    from lmrbench.tasks.collect import is_untouched
    from lmrbench.tasks.submission import MAX_CODE_BYTES, Submission

    name = task or "/".join(path.resolve().parts[-2:])
    found = load_task(suite, name)
    if str(path) == "-":
        text = sys.stdin.buffer.read(MAX_CODE_BYTES + 1)
        submission = collect_text(found, text, "standard input", system, sample)
    else:
        submission = take_in(found, path, system, sample)
    if is_untouched(found, submission):
        warn(f"{path}: the masked functions are as they were exported; nothing was filled in")
    _, warnings = read_submission(found, submission)
    for warning in (*submission.warnings, *warnings):
        warn(warning)
    if replace:
        key = (submission.system, submission.task, submission.sample)
        kept = [item for item in read_lines(to, Submission) if (item.system, item.task, item.sample) != key]
        write_whole(to, "".join(item.model_dump_json() + "\n" for item in (*kept, submission)).encode())
    else:
        append_line(to, submission)
    say(f"{found.id} of {system} {'written' if replace else 'appended'} to {to}")
