"""What an annotator reads of one item: the instruction, the reference and the candidate, and not whose answer it is."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from lmrbench.errors import SubmissionError
from lmrbench.grading.reading import read_submission
from lmrbench.printable import printable
from lmrbench.pysource.source import decode
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.workspace import RULES, repository_files, target_texts, unsolved_files


def document(name: str, task: Task, submission: Submission) -> str:
    """The Markdown file of an item of that name.

    An answer of which nothing can be taken is shown as it came, with the reason.
    """
    parts = [
        f"# {name}",
        f"Task {task.id}, of: {task.paper.title} ({task.paper.venue} {task.paper.year}), {task.paper.url}",
        "## Instruction",
        task.instruction.strip(),
        RULES,
        "## Reference",
        *_targets(task, repository_files(task)),
        "## Candidate",
    ]
    unsolved = unsolved_files(task)
    try:
        answered, _ = read_submission(task, submission)
    except SubmissionError as error:
        parts.append(f"Nothing can be taken of this answer: {printable(str(error))}")
        given = {"": submission.code} if isinstance(submission.code, str) else submission.code
        parts += [
            part for file, code in given.items() for part in (f"`{printable(file)}`" if file else "", _code(code))
        ]
    else:
        parts += _targets(task, answered)
        for file in task.goal_files:
            added = _added(_others(task, unsolved, file), _others(task, answered, file))
            parts += [f"Added to `{file}` beside it:", _code(added)] if added else []
    return "\n\n".join(filter(None, parts)) + "\n"


def _targets(task: Task, files: Mapping[str, bytes]) -> list[str]:
    return [part for target, (_, text) in target_texts(task, files).items() for part in (f"`{target}`", _code(text))]


def _others(task: Task, files: Mapping[str, bytes], file: str) -> list[str]:
    """The lines of a file that no target takes."""
    lines = decode(files[file])[0].splitlines()
    taken = {
        number
        for target, (first, text) in target_texts(task, files).items()
        if target.file == file
        for number in range(first, first + len(text.splitlines()))
    }
    return [line for number, line in enumerate(lines, 1) if number not in taken]


def _added(before: list[str], after: list[str]) -> str:
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    lines = [line for tag, _, _, start, end in matcher.get_opcodes() if tag != "equal" for line in after[start:end]]
    return "\n".join(lines).strip("\n")


def _code(text: str) -> str:
    """A fenced block; its fence is longer than any run of backticks inside."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", text))])
    plain = "\n".join(text.expandtabs(4).splitlines()).rstrip()
    return f"{fence}python\n{printable(plain, lines=True)}\n{fence}"
