"""The document that an annotator reads about one answer. It does not reveal which system wrote the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lmrbench.errors import SubmissionError
from lmrbench.grading.reading import read_targets
from lmrbench.judging.prompts import fence_around
from lmrbench.source.matching import matched
from lmrbench.source.syntax import decode
from lmrbench.tasks.model import Target, Task
from lmrbench.tasks.submission import Answer, Submission
from lmrbench.tasks.workspace import RULES, repository_files, target_texts, unsolved_files
from lmrbench.text import printable


def documents(
    items: Mapping[str, Answer], tasks: Mapping[str, Task], answers: Mapping[Answer, Submission]
) -> Iterator[tuple[str, str]]:
    """Yield the name and the document of each item; see `document`.

    Args:
        items: The answers by opaque name.
        tasks: The tasks by id.
        answers: The submissions, by the system, task and sample of the answer.
    """
    for name, answer in items.items():
        yield name, document(name, tasks[answer.task], answers[answer])


def document(name: str, task: Task, submission: Submission) -> str:
    """Return the document of an item in Markdown: instruction, reference and candidate.

    If no code can be extracted from the answer, its full text is shown with the reason.

    Args:
        name: The item's opaque name.
        task: The task that was solved.
        submission: The answer.
    """
    parts = [
        f"# {name}",
        f"Task {task.id}, from {task.paper.title} ({task.paper.venue} {task.paper.year}), {task.paper.url}",
        "## Instruction",
        task.instruction.strip(),
        "## Rules for every task",
        RULES,
        "## Reference",
        *_targets(target_texts(task, repository_files(task))),
        "## Candidate",
    ]
    unsolved = unsolved_files(task)
    try:
        answered, taken = read_targets(task, submission)
    except SubmissionError as error:
        parts.append(f"No code can be extracted from this answer: {printable(str(error))}")
        given = {"": submission.code} if isinstance(submission.code, str) else submission.code
        parts += [
            part for file, code in given.items() for part in (f"`{printable(file)}`" if file else "", _code(code))
        ]
    else:
        parts += _targets(taken)
        masked = target_texts(task, unsolved)
        for file in task.goal_files:
            added = _added(_others(masked, unsolved, file), _others(taken, answered, file))
            parts += [f"Also added to `{file}`:", _code(added)] if added else []
    return "\n\n".join(filter(None, parts)) + "\n"


def _targets(texts: Mapping[Target, tuple[int, str]]) -> list[str]:
    return [part for target, (_, text) in texts.items() for part in (f"`{target}`", _code(text))]


def _others(texts: Mapping[Target, tuple[int, str]], files: Mapping[str, bytes], file: str) -> list[str]:
    """Return the lines of a file outside its targets (the functions that the task asks for)."""
    lines = decode(files[file])[0].splitlines()
    taken = {
        number
        for target, (first, text) in texts.items()
        if target.file == file
        for number in range(first, first + len(text.splitlines()))
    }
    return [line for number, line in enumerate(lines, 1) if number not in taken]


def _added(before: list[str], after: list[str]) -> str:
    lines = [line for tag, _, _, start, end in matched(before, after) if tag != "equal" for line in after[start:end]]
    return "\n".join(lines).strip("\n")


def _code(text: str) -> str:
    """Return a fenced block of Python."""
    fence = fence_around(text)
    plain = "\n".join(text.expandtabs(4).splitlines()).rstrip()
    return f"{fence}python\n{printable(plain, lines=True)}\n{fence}"
