"""`lmrbench show`: what does a task ask for?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench.cli.options import JsonOption, SuiteOption, load_task, print_json
from lmrbench.cli.terminal import console
from lmrbench.report.render.cells import cell
from lmrbench.text import printable

if TYPE_CHECKING:
    from lmrbench.authoring.audit.certificate import Certificate


def show(
    task_id: Annotated[str, typer.Argument(metavar="TASK", help="A task id, such as dpo/preference_loss.")],
    suite: SuiteOption = None,
    json: JsonOption = False,
) -> None:
    """Show one task: its paper, its instruction, and the masked function as a solver finds it."""
    from lmrbench.authoring.audit.certificate import read_certificate
    from lmrbench.tasks.digests import audit_digest, grading_digest
    from lmrbench.tasks.model import TaskEntry
    from lmrbench.tasks.workspace import goal_signatures

    task = load_task(suite, task_id)
    certificate = read_certificate(task)
    counts = {"rewrites": len(task.files.rewrites), "wrong": len(task.files.wrong)}
    if json:
        facts = task.model_dump(mode="json", include={"paper", *TaskEntry.model_fields} - {"targets"})
        print_json(
            {
                "id": task.id,
                "targets": [str(item) for item in task.targets],
                **facts,
                **counts,
                "grading_digest": grading_digest(task),
                "audit_digest": audit_digest(task),
                "certificate": certificate.model_dump(mode="json", exclude={"task", "digest"}) if certificate else None,
            }
        )
        return
    from rich.markdown import Markdown
    from rich.syntax import Syntax
    from rich.table import Table

    out = console()
    table = Table(title=task.id, show_header=False)
    for key, value in (
        ("paper", f"{task.paper.title} ({task.paper.venue} {task.paper.year}), {task.paper.url}"),
        ("category", task.category),
        ("target", "\n".join(map(str, task.targets))),
        ("context", ", ".join(task.context) or "-"),
        ("tolerance", f"rtol {task.tolerance.rtol:g}, atol {task.tolerance.atol:g}"),
        ("limits", ", ".join(f"{name} {value:g}" for name, value in task.limits)),
        ("variants", ", ".join(f"{count} {kind}" for kind, count in counts.items())),
        ("grading digest", grading_digest(task)),
        ("audit digest", audit_digest(task)),
        ("certificate", _certified(certificate) if task.files.check else "none: there is no check to certify"),
    ):
        table.add_row(key, cell(value))
    out.print(table)
    out.print(Markdown(printable(task.instruction, lines=True)))
    for target, text in goal_signatures(task).items():
        out.print()
        out.print(cell(str(target), style="bold"))
        out.print(Syntax(printable(text, lines=True), "python", word_wrap=True, background_color="default"))


def _certified(certificate: Certificate | None) -> str:
    if certificate is None:
        return "none that holds for the task as it is; see `lmrbench audit`"
    cost, mutation = certificate.cost, certificate.mutation
    lines = [
        f"golden: {certificate.golden.flakes} flakes in {certificate.golden.cases} cases of {certificate.seeds} seeds",
        f"rejected: {mutation.rejected} of {mutation.mutants} mutants, "
        f"{sum(not item.passed for item in certificate.wrong)} of {len(certificate.wrong)} wrong versions, "
        f"{sum(not item.passed for item in certificate.cheats)} of {len(certificate.cheats)} cheats",
        f"leak: {certificate.leak.share:.0%} {certificate.leak.place}".rstrip(),
        f"cost: {cost.cases} cases, {cost.seconds:.2f} s, {cost.peak_mb:.0f} MB, {cost.output_bytes:,} bytes",
    ]
    return "\n".join([*lines, *certificate.shortfalls])
