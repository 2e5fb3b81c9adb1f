"""Show a task, or an answer to it, on a terminal."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

from rich.console import RenderableType
from rich.markdown import Markdown
from rich.syntax import Syntax
from rich.table import Table

from lmrbench.authoring.audit.certificate import Certificate
from lmrbench.errors import SubmissionError
from lmrbench.grading.reading import read_targets
from lmrbench.report.render.cells import cell
from lmrbench.tasks.digests import audit_digest, grading_digest
from lmrbench.tasks.model import Paper, Task, TaskEntry
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.workspace import goal_signatures, target_texts, unsolved_files
from lmrbench.text import printable

# The width in characters that each of two pieces of code needs if they are shown side by side.
SIDE_BY_SIDE = 84


def task_facts(task: Task, certificate: Certificate | None) -> dict[str, object]:
    """Return a task's entries in task.toml, its digests and its certificate (the results of its audit), for JSON."""
    facts = task.model_dump(mode="json", include={"paper", *TaskEntry.model_fields} - {"targets"})
    return {
        "id": task.id,
        "targets": [str(item) for item in task.targets],
        **facts,
        "rewrites": len(task.files.rewrites),
        "wrong": len(task.files.wrong),
        "grading_digest": grading_digest(task),
        "audit_digest": audit_digest(task),
        "certificate": certificate.model_dump(mode="json", exclude={"task", "digest"}) if certificate else None,
    }


def _dated(paper: Paper) -> str:
    """Describe when a paper's method became public, and its first release in a package if there is one."""
    release = paper.released
    released = f" (released in {release.package} {release.version} on {release.date})" if release else ""
    return f"{paper.public_since or 'not known'}{released}"


def task_parts(task: Task, certificate: Certificate | None) -> Iterator[RenderableType]:
    """Yield a task's paper, facts, instruction, and masked functions."""
    table = Table(title=task.id, show_header=False)
    for key, value in (
        ("paper", f"{task.paper.title} ({task.paper.venue} {task.paper.year}), {task.paper.url}"),
        ("public since", _dated(task.paper)),
        ("category", task.category),
        ("target", "\n".join(map(str, task.targets))),
        ("context", ", ".join(task.context) or "-"),
        ("tolerance", f"rtol {task.tolerance.rtol:g}, atol {task.tolerance.atol:g}"),
        ("limits", ", ".join(f"{name} {value:g}" for name, value in task.limits)),
        ("variants", f"{len(task.files.rewrites)} rewrites, {len(task.files.wrong)} wrong versions"),
        ("grading digest", grading_digest(task)),
        ("audit digest", audit_digest(task)),
        ("certificate", _certified(certificate) if task.files.check else "none, because there is no check to certify"),
    ):
        table.add_row(key, cell(value))
    yield table
    yield Markdown(printable(task.instruction, lines=True))
    for target, text in goal_signatures(task).items():
        yield ""
        yield cell(str(target), style="bold")
        yield Syntax(printable(text, lines=True), "python", word_wrap=True, background_color="default")


def _certified(certificate: Certificate | None) -> str:
    if certificate is None:
        return "missing or outdated; see `lmrbench task audit`"
    cost, mutation = certificate.cost, certificate.mutation
    lines = [
        f"golden: {certificate.golden.flakes} flakes in {certificate.golden.cases} cases of {certificate.seeds} seeds",
        f"rejected: {mutation.rejected} of {mutation.mutants} mutants "
        f"({mutation.ordinary_score:.1%} by ordinary cases), "
        f"{sum(not item.passed for item in certificate.wrong)} of {len(certificate.wrong)} wrong versions, "
        f"{sum(not item.correct for item in certificate.cheats)} of {len(certificate.cheats)} cheats",
        f"leak: {certificate.leak.share:.0%} {certificate.leak.place}".rstrip(),
        f"cost: {cost.cases} cases, {cost.edge} of them edge cases, {cost.seconds:.2f} s, {cost.peak_mb:.0f} MB, "
        f"{cost.output_bytes:,} bytes",
    ]
    return "\n".join([*lines, *certificate.shortfalls])


def answer_parts(task: Task, submission: Submission, width: int) -> Iterator[RenderableType]:
    """Yield each masked function and the code that was taken from an answer, with line numbers.

    If the task asks for whole files instead of functions, a diff is yielded. An answer that can't be used is yielded as
    it was submitted.

    Args:
        task: The task that was answered.
        submission: The answer.
        width: The width of the terminal in characters. If it is large enough, the two pieces of code are shown side by
            side.
    """
    try:
        answered, taken = read_targets(task, submission)
    except SubmissionError as error:
        yield cell(f"no code can be taken from this answer: {error}")
        code = submission.code if isinstance(submission.code, str) else "\n\n".join(submission.code.values())
        yield _code(code, 1)
        return
    if not task.targets:
        yield Syntax(printable(_diff(task.files.shown, answered), lines=True), "diff", background_color="default")
        return
    masked = target_texts(task, unsolved_files(task))
    for target in task.targets:
        pieces = [(title, *texts[target]) for title, texts in (("masked", masked), ("answer", taken))]
        if width >= 2 * SIDE_BY_SIDE:
            grid = Table.grid(padding=(0, 2), expand=True)
            grid.add_row(*(cell(f"{target} ({title})", style="bold") for title, _, _ in pieces))
            grid.add_row(*(_code(text, line) for _, line, text in pieces))
            yield grid
        else:
            for title, line, text in pieces:
                yield cell(f"{target} ({title})", style="bold")
                yield _code(text, line)
        yield ""


def _diff(shown: Mapping[str, bytes], answered: Mapping[str, bytes]) -> str:
    lines: list[str] = []
    for path, data in shown.items():
        before, after = (item.decode("utf-8", "replace").splitlines() for item in (data, answered[path]))
        lines += difflib.unified_diff(before, after, path, path, lineterm="", n=1)
    return "\n".join(lines) or "nothing was changed"


def _code(text: str, first_line: int) -> Syntax:
    return Syntax(
        printable(text, lines=True),
        "python",
        line_numbers=True,
        start_line=first_line,
        word_wrap=True,
        background_color="default",
    )
