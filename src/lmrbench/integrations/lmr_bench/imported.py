"""Records that describe the result of importing the public edition of LMR-BENCH."""

from __future__ import annotations

from pathlib import Path

from lmrbench.records import Record


class ImportedTask(Record):
    """An imported task.

    Attributes:
        task: The id of the task.
        category: The category of the task.
        target: The function to write, as `file.py::function` or `file.py::Class.method`.
        check: The id of the task in `core`, lmrbench's own suite, that has the same function; "" if the imported task
            has no check.
        benchmark: The name of the paper's folder in the edition's repository.
        function: The index of the function among the functions in the folder's `info.json`, from 0.
    """

    task: str
    category: str
    target: str
    check: str
    benchmark: str
    function: int


class Remark(Record):
    """A remark on the import, or a reason for an omission.

    Attributes:
        where: The folder of a paper, or the file, function or task that the remark is about.
        reason: The text of the remark.
    """

    where: str
    reason: str


class ImportedRun(Record):
    """A run folder with published records, and the number of records of each kind.

    Attributes:
        folder: The run folder.
        system: The name of the system.
        answers: The number of answers from output trees, which are copies of papers' folders with a system's answers.
        unit_tests: The number of published results of unit tests.
        judgements: The number of votes of the published judge.
        labels: The number of labels, the categories that people gave to answers.
    """

    folder: Path
    system: str
    answers: int
    unit_tests: int
    judgements: int
    labels: int


class ImportedEdition(Record):
    """The result of an import.

    Attributes:
        tasks: The imported tasks.
        left_out: The parts of the edition that were not imported, with reasons.
        remarks: Remarks on the imported tasks.
        runs: The run folders; empty if the published records were not imported.
    """

    tasks: tuple[ImportedTask, ...]
    left_out: tuple[Remark, ...]
    remarks: tuple[Remark, ...]
    runs: tuple[ImportedRun, ...] = ()
