"""An index of a run folder that is updated as the run's files grow.

A line of `grades.jsonl` may be megabytes long, and a run may have ten thousand lines. The index parses the head of each
line (the fields before the cases) once, and a whole line only when that grade is requested. Each refresh reads only
what was appended since the previous one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, TypeVar

from lmrbench.errors import RecordError
from lmrbench.grading.records import Grade, grade_word, without_edge_cases
from lmrbench.grading.signatures import unsigned
from lmrbench.jsonl import GrowingFile, Place
from lmrbench.records import Migration, StoredRecord, read_record
from lmrbench.runs.folder import GRADES, JUDGEMENTS, LABELS, SUBMISSIONS, USAGE, read_facts
from lmrbench.runs.records import Judgement, Label, RunFacts, Usage
from lmrbench.tasks.submission import Answer, Submission

# Byte sequences in the JSON of a grade: after its head, before each verdict, and for a matching verdict. They do not
# occur inside strings, in which JSON escapes quotes.
_CASES, _CASE, _MATCH = b',"cases":', b'"verdict":"', b'"verdict":"match"'

OfAnswer = TypeVar("OfAnswer", Submission, Judgement, Label)


class GradeHead(StoredRecord):
    """The fields of a stored grade that precede its cases."""

    migrations: ClassVar[Mapping[int, Migration]] = {3: without_edge_cases}

    system: str
    task: str
    sample: int
    label: str
    category: str
    correct: bool
    robust: bool

    @property
    def word(self) -> str:
        """The grade as a word, such as `correct`."""
        return grade_word(self.correct, self.robust)


@dataclass(frozen=True)
class IndexedGrade:
    """One grade in the index.

    Attributes:
        head: The fields before the cases.
        matched: The number of cases that match.
        cases: The number of cases.
        place: The position of the whole line in `grades.jsonl`.
    """

    head: GradeHead
    matched: int
    cases: int
    place: Place


@dataclass
class RunIndex:
    """The index of one run folder, as of the last call of `refresh`.

    Attributes:
        folder: The run folder.
        label_files: Files of human labels outside of the folder.
        facts: The conditions of the run, or None if the folder has no `run.json`.
        entries: The last grade of each answer.
        usages: The outcome and the cost of each answer.
        problem: A message about the last file or line that could not be read; "" if everything could be read.
    """

    folder: Path
    label_files: Sequence[Path] = ()
    facts: RunFacts | None = None
    entries: dict[Answer, IndexedGrade] = field(default_factory=dict)
    usages: dict[Answer, Usage] = field(default_factory=dict)
    problem: str = ""

    def __post_init__(self) -> None:
        """Create the readers of the files that grow during a run."""
        self._grades = GrowingFile(self.folder / GRADES)
        self._usages = GrowingFile(self.folder / USAGE)

    def refresh(self) -> None:
        """Read what was appended since the last call. Damaged lines are skipped and named in `problem`."""
        self.problem = ""
        try:
            self.facts = read_facts(self.folder)
            for number, place, line in self._grades.appended(self.entries.clear):
                try:
                    self._add_grade(line, place)
                except RecordError:
                    self.problem = f"{self.folder / GRADES}:{number}: damaged line, skipped"
            for number, _, line in self._usages.appended(self.usages.clear):
                try:
                    usage = Usage.model_validate_json(line)
                    self.usages[usage.answer] = usage
                except ValueError:
                    self.problem = f"{self.folder / USAGE}:{number}: damaged line, skipped"
        except RecordError as error:
            self.problem = str(error)

    def _add_grade(self, line: bytes, place: Place) -> None:
        before, found, after = line.partition(_CASES)
        head = read_record(before + b"}" if found else b"", GradeHead, "")
        counts = after.count(_MATCH), after.count(_CASE)
        self.entries[Answer(head.system, head.task, head.sample)] = IndexedGrade(head, *counts, place)

    def grade(self, answer: Answer) -> Grade | None:
        """Read the grade of an answer.

        Args:
            answer: The key of the grade.

        Returns:
            The grade with its cases, or None if the answer has no grade.

        Raises:
            RecordError: The stored line is damaged.
        """
        entry = self.entries.get(answer)
        if entry is None:
            return None
        return read_record(unsigned(self._grades.at(entry.place)), Grade, str(self.folder / GRADES))

    def submission(self, answer: Answer) -> Submission | None:
        """Read the submission of an answer, or return None if the folder does not contain it."""
        return next(_of(answer, self.folder / SUBMISSIONS, Submission), None)

    def judgements(self, answer: Answer) -> list[Judgement]:
        """Read the votes of judges on an answer."""
        return list(_of(answer, self.folder / JUDGEMENTS, Judgement))

    def labels(self, answer: Answer) -> list[Label]:
        """Read the human labels of an answer from the run folder and from `label_files`."""
        return [label for file in (self.folder / LABELS, *self.label_files) for label in _of(answer, file, Label)]


def _of(answer: Answer, file: Path, model: type[OfAnswer]) -> Iterator[OfAnswer]:
    """Yield the records of an answer in a file. Only lines that contain the task's id are parsed."""
    task = json.dumps(answer.task, ensure_ascii=False).encode()
    for number, _, line in GrowingFile(file).appended():
        if task in line:
            record = read_record(line, model, f"{file}:{number}")
            if record.answer == answer:
                yield record
