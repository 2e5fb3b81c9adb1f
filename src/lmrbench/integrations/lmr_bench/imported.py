"""What an import of the public edition made, left out and remarked on."""

from __future__ import annotations

from pathlib import Path

from lmrbench.records import Record


class ImportedTask(Record):
    """A task that was imported.

    Attributes:
        task: The id of the task.
        category: The category of the task.
        target: The target of the task.
        check: The id of the task of `core` with the same function, whose check was adapted; "" without a check.
        benchmark: The name of the paper's folder in the edition.
        function: The place of the function in its `info.json`, from 0.
    """

    task: str
    category: str
    target: str
    check: str
    benchmark: str
    function: int


class Remark(Record):
    """A remark on the import.

    Attributes:
        where: The benchmark, file, function or task.
        reason: The text of the remark.
    """

    where: str
    reason: str


class ImportedRun(Record):
    """A run folder with published records, and the number of its records of each kind.

    Attributes:
        folder: The run folder.
        system: The name of the system.
        answers: Answers from the output trees.
        unit_tests: Verdicts of the published unit tests.
        judgements: Votes of the published judge.
        labels: Labels of people.
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
        left_out: What was not imported, and why.
        remarks: Remarks on the imported tasks.
        runs: The run folders, if the published records were imported, too.
    """

    tasks: tuple[ImportedTask, ...]
    left_out: tuple[Remark, ...]
    remarks: tuple[Remark, ...]
    runs: tuple[ImportedRun, ...] = ()
