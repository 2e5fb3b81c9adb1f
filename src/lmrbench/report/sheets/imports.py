"""The tables that `lmrbench task import` prints about the tasks and records that it imported from LMR-BENCH."""

from __future__ import annotations

from collections.abc import Sequence

from lmrbench.integrations.lmr_bench.imported import ImportedEdition, Remark
from lmrbench.report.render.tables import Sheet, in_one_line, sheet
from lmrbench.text import counted


def imported_sheets(found: ImportedEdition) -> list[Sheet]:
    """Return the tables of imported tasks, imported runs, items that were left out, and remarks on imported items."""
    rows = [(item.task, item.category, item.check or "none", item.target) for item in found.tasks]
    columns = ("task", "category", "check", "target")
    tasks = sheet(f"{counted(len(rows), 'task')} imported", columns, rows, spare=("category", "target"))
    others = (
        _runs(found),
        _remarks("Left out", found.left_out),
        _remarks("Remarks on imported items", found.remarks),
    )
    return [tasks, *(item for item in others if item.rows)]


def _runs(found: ImportedEdition) -> Sheet:
    rows = [
        (str(item.folder), item.system, item.answers, item.unit_tests, item.judgements, item.labels)
        for item in found.runs
    ]
    columns = ("run", "system", "answers", "unit tests", "judgements", "labels")
    return sheet("Imported runs", columns, rows, numbers=columns[2:])


def _remarks(title: str, remarks: Sequence[Remark]) -> Sheet:
    return sheet(title, ("where", "reason"), [(item.where, in_one_line(item.reason, 400)) for item in remarks])
