"""An index of a run folder: what is in its files, and where, without reading all of them, while they grow.

A line of grades.jsonl may have megabytes, and a run ten thousand lines. So the head of each line is read once, and the
whole line when its page is opened. The next look reads what was appended since.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from lmrbench.errors import RecordError
from lmrbench.grading.records import Grade
from lmrbench.grading.signatures import unsigned
from lmrbench.jsonl import GrowingFile, Place
from lmrbench.records import Record, read_record
from lmrbench.runs.folder import GRADES, JUDGEMENTS, LABELS, SUBMISSIONS, USAGE, read_facts
from lmrbench.runs.records import Judgement, Label, RunFacts, Usage
from lmrbench.tasks.submission import Answer, Submission

# Where the head of a grade ends, and what tells of its cases. Within a string these quotes would be escaped.
_CASES, _CASE, _MATCH = b',"cases":', b'"verdict":"', b'"verdict":"match"'


OfAnswer = TypeVar("OfAnswer", Submission, Judgement, Label)


class Head(Record):
    """What stands before the cases of a grade."""

    schema_version: int
    system: str
    task: str
    sample: int
    label: str
    category: str
    passed: bool


@dataclass(frozen=True)
class Entry:
    """One grade: its head, how many of its cases match, and where all of it stands."""

    head: Head
    matched: int
    cases: int
    place: Place


@dataclass
class RunIndex:
    """One run folder, as far as it has been looked at. `look` before each use.

    label_files: where people's labels lie besides the folder. problem: what can't be read, or "".
    """

    folder: Path
    label_files: Sequence[Path] = ()
    facts: RunFacts | None = None
    entries: dict[Answer, Entry] = field(default_factory=dict)
    usages: dict[Answer, Usage] = field(default_factory=dict)
    problem: str = ""

    def __post_init__(self) -> None:
        self._grades = GrowingFile(self.folder / GRADES)
        self._usages = GrowingFile(self.folder / USAGE)

    def look(self) -> None:
        """Take in what has come since the last look. A damaged line is left out, and named in `problem`."""
        self.problem = ""
        try:
            self.facts = read_facts(self.folder)
            for number, place, line in self._grades.appended(self.entries.clear):
                try:
                    self._add_grade(line, place)
                except ValueError:
                    self.problem = f"{self.folder / GRADES}:{number} is damaged, and left out"
            for number, _, line in self._usages.appended(self.usages.clear):
                try:
                    usage = Usage.model_validate_json(line)
                    self.usages[usage.answer] = usage
                except ValueError:
                    self.problem = f"{self.folder / USAGE}:{number} is damaged, and left out"
        except RecordError as error:
            self.problem = str(error)

    def _add_grade(self, line: bytes, place: Place) -> None:
        before, found, after = line.partition(_CASES)
        head = Head.model_validate(json.loads(before + b"}" if found else b""))
        counts = after.count(_MATCH), after.count(_CASE)
        self.entries[Answer(head.system, head.task, head.sample)] = Entry(head, *counts, place)

    def grade(self, answer: Answer) -> Grade | None:
        """The whole grade of an answer; None if it has none. Raises RecordError if its line can't be read."""
        entry = self.entries.get(answer)
        if entry is None:
            return None
        return read_record(unsigned(self._grades.at(entry.place)), Grade, str(self.folder / GRADES))

    def submission(self, answer: Answer) -> Submission | None:
        """What was handed in; None if it is not there."""
        return next(_of(answer, self.folder / SUBMISSIONS, Submission), None)

    def judgements(self, answer: Answer) -> list[Judgement]:
        """The votes of judges on an answer."""
        return list(_of(answer, self.folder / JUDGEMENTS, Judgement))

    def labels(self, answer: Answer) -> list[Label]:
        """What people say of an answer, in the run folder or in files of labels that were named."""
        return [label for file in (self.folder / LABELS, *self.label_files) for label in _of(answer, file, Label)]


def _of(answer: Answer, file: Path, model: type[OfAnswer]) -> Iterator[OfAnswer]:
    """Yield the records of an answer in a file. Only lines that name its task are parsed."""
    task = json.dumps(answer.task, ensure_ascii=False).encode()
    for number, _, line in GrowingFile(file).appended():
        if task in line:
            record = read_record(line, model, f"{file}:{number}")
            if record.answer == answer:
                yield record
