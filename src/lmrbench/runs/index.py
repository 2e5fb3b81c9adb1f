"""What is in a run folder, and where in its files? Without reading all of them, and while they grow.

A line of grades.jsonl may be as long as a book, and a run may hold ten thousand. So of each line the head is read once,
and the whole when somebody opens its page. What has been read stays known: the next look reads what was appended.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from lmrbench.errors import RecordError
from lmrbench.files import reading_plain
from lmrbench.grading.records import Grade
from lmrbench.grading.signatures import unsigned
from lmrbench.records import AnyRecord, Record, read_record
from lmrbench.runs.folder import GRADES, JUDGEMENTS, LABELS, SUBMISSIONS, USAGE, read_facts
from lmrbench.runs.records import Judgement, Label, RunFacts, Usage
from lmrbench.tasks.submission import Answer, Submission

# Where the head of a grade ends, and what tells of its cases. Within a string these quotes would be escaped.
_CASES, _CASE, _MATCH = b',"cases":', b'"verdict":"', b'"verdict":"match"'


class Place(NamedTuple):
    """Where a line stands in its file, in bytes."""

    start: int
    length: int


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
class _Growing:
    """A file of JSON lines, and how far it has been read."""

    file: Path
    read: int = 0
    number: int = 0
    identity: tuple[int, int] = (0, 0)

    def appended(self, forget: Callable[[], None]) -> Iterator[tuple[int, Place, bytes]]:
        """Number, place and content of each whole line that came since. forget: called if it is another file by now."""
        try:
            with reading_plain(self.file) as file:
                status = os.fstat(file.fileno())
                identity = (status.st_dev, status.st_ino)
                if identity != self.identity or status.st_size < self.read:
                    self.read, self.number, self.identity = 0, 0, identity
                    forget()
                file.seek(self.read)
                for line in file:
                    if not line.endswith(b"\n"):
                        # It is being written.
                        return
                    place = Place(self.read, len(line))
                    self.read += len(line)
                    self.number += 1
                    if line.strip():
                        yield self.number, place, line
        except FileNotFoundError:
            forget()


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
        self._grades = _Growing(self.folder / GRADES)
        self._usages = _Growing(self.folder / USAGE)

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
        with reading_plain(self.folder / GRADES) as file:
            file.seek(entry.place.start)
            line = file.read(entry.place.length)
        return read_record(unsigned(line.strip()), Grade, str(self.folder / GRADES))

    def submission(self, answer: Answer) -> Submission | None:
        """What was handed in; None if it is not there."""
        return next(_of(answer, self.folder / SUBMISSIONS, Submission), None)

    def judgements(self, answer: Answer) -> list[Judgement]:
        """The votes of judges on an answer."""
        return list(_of(answer, self.folder / JUDGEMENTS, Judgement))

    def labels(self, answer: Answer) -> list[Label]:
        """What people say of an answer, in the run folder or in files of labels that were named."""
        return [label for file in (self.folder / LABELS, *self.label_files) for label in _of(answer, file, Label)]


def _of(answer: Answer, file: Path, model: type[AnyRecord]) -> Iterator[AnyRecord]:
    """The records of an answer in a file. Only lines that name its task are parsed."""
    task = json.dumps(answer.task, ensure_ascii=False).encode()
    for number, _, line in _Growing(file).appended(lambda: None):
        if task in line:
            record = read_record(line, model, f"{file}:{number}")
            if (record.system, record.task, record.sample) == answer:  # type: ignore[attr-defined]
                yield record
