"""What people say of answers: labels, labels of several files together, and one verdict where several disagree.

Several people label an item, which is one answer to one task. `merged` puts their files together. `adjudicated` gives
each item the category that most of them chose; where there is none, or where one says CC and another LI, a third person
decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from lmrbench.errors import RecordError, UsageError
from lmrbench.files import write_whole
from lmrbench.jsonl import read_submitted_lines
from lmrbench.runs.records import OPPOSITES, Category, Label
from lmrbench.tasks.submission import Answer

# The annotator of what the majority or a third person decided; nobody may be called so.
ADJUDICATED = "adjudicated"


def read_labels(files: Iterable[Path]) -> list[Label]:
    """The labels of all files, those that are equal once.

    Raises RecordError for a file that can't be read or holds none, and where one annotator says two things of one
    answer, in one file or in two.
    """
    found: dict[tuple[str, Answer], tuple[Label, Path]] = {}
    contradictions = []
    for file in files:
        labels = read_submitted_lines(file, Label)
        if not labels:
            raise RecordError(f"{file}: holds no labels")
        for label in labels:
            earlier, place = found.setdefault((label.annotator, label.answer), (label, file))
            differing = [name for name in Label.model_fields if getattr(earlier, name) != getattr(label, name)]
            if differing and differing != ["schema_version"]:
                contradictions.append(
                    f"{label.annotator}, {label.answer}: {differing[0]} is {getattr(earlier, differing[0])!r} in "
                    f"{place} and {getattr(label, differing[0])!r} in {file}"
                )
    if contradictions:
        raise RecordError("annotators contradict themselves:\n" + "\n".join(contradictions))
    return [label for label, _ in found.values()]


def write_labels(file: Path, labels: Iterable[Label]) -> None:
    """Write labels as JSON lines; whoever reads the file finds the old content or the new."""
    write_whole(file, "".join(label.model_dump_json() + "\n" for label in labels).encode())


def by_answer(labels: Iterable[Label]) -> dict[Answer, list[Label]]:
    """The labels of each answer, in the order in which answers first occur."""
    groups: dict[Answer, list[Label]] = {}
    for label in labels:
        groups.setdefault(label.answer, []).append(label)
    return groups


def of_people(labels: Iterable[Label]) -> dict[Answer, list[Label]]:
    """What people together say of each answer: what was adjudicated, or else all of its labels."""
    return {
        answer: [item for item in items if item.annotator == ADJUDICATED] or items
        for answer, items in by_answer(labels).items()
    }


def majority(categories: Sequence[Category]) -> Category | None:
    """The category that more than half of them are; None if there is none."""
    if not categories:
        return None
    category, count = Counter(categories).most_common(1)[0]
    return category if 2 * count > len(categories) else None


def disputed(labels: Iterable[Label]) -> dict[Answer, list[Label]]:
    """The answers that a third person has to decide on: without a majority, or called CC by one and LI by another."""
    return {answer: items for answer, items in by_answer(labels).items() if _settled(items) is None}


def adjudicated(labels: Sequence[Label], decisions: Iterable[Label] = ()) -> list[Label]:
    """One label for each answer on which there is a verdict; its annotator is `ADJUDICATED`.

    The majority's label has the error class that most of the majority name, and all of their reasons; its seconds are
    unknown. decisions: of third persons, of disputed answers.

    Raises UsageError for a decision on an answer that is not disputed, by somebody who labelled it before, or in
    which two third persons differ.
    """
    groups = by_answer(labels)
    decided = _decided(disputed(labels), decisions)
    verdicts = []
    for answer, items in groups.items():
        verdict = decided.get(answer) or _settled(items)
        if verdict is not None:
            verdicts.append(verdict.model_copy(update={"annotator": ADJUDICATED}))
    return verdicts


def _settled(items: Sequence[Label]) -> Label | None:
    said = [item.category for item in items]
    category = majority(said)
    if category is None or set(said) >= OPPOSITES:
        return None
    most = [item for item in items if item.category == category]
    classes = Counter(item.error_class for item in most if item.error_class)
    reasons = dict.fromkeys(item.reason for item in most if item.reason)
    update = {
        "error_class": classes.most_common(1)[0][0] if classes else None,
        "reason": "; ".join(reasons),
        "seconds": None,
    }
    return most[0].model_copy(update=update)


def _decided(open_: Mapping[Answer, Sequence[Label]], decisions: Iterable[Label]) -> dict[Answer, Label]:
    decided: dict[Answer, Label] = {}
    for item in decisions:
        if item.answer not in open_:
            raise UsageError(f"{item.answer}: {item.annotator} decided on it, but it is not disputed")
        if item.annotator in {label.annotator for label in open_[item.answer]}:
            raise UsageError(f"{item.answer}: {item.annotator} has labelled it, so somebody else must decide on it")
        earlier = decided.setdefault(item.answer, item)
        if earlier.category != item.category:
            raise UsageError(f"{item.answer}: {earlier.annotator} and {item.annotator} decide differently")
    return decided
