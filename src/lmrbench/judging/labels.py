"""Read, group and adjudicate labels, the categories that people give to answers.

Several annotators label an answer as CC (completely correct), LC (logic correct, implementation faulty) or LI (logic
incorrect), and may add an error class, the kind of mistake. `read_labels` merges their files. `adjudicated` gives each
answer its majority category. An answer without a majority, or with both CC and LI among its labels, is disputed and
needs the decision of a third person.
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

# The name of the annotator in adjudicated labels. It is reserved.
ADJUDICATED = "adjudicated"


def read_labels(files: Iterable[Path]) -> list[Label]:
    """Read the labels in several files. Duplicates are returned once.

    Raises:
        RecordError: A file can't be read or has no labels, or an annotator gave two different labels to an answer.
    """
    found: dict[tuple[str, Answer], tuple[Label, Path]] = {}
    contradictions = []
    for file in files:
        labels = read_submitted_lines(file, Label)
        if not labels:
            raise RecordError(f"{file} contains no labels")
        for label in labels:
            earlier, place = found.setdefault((label.annotator, label.answer), (label, file))
            differing = [name for name in Label.model_fields if getattr(earlier, name) != getattr(label, name)]
            if differing and differing != ["schema_version"]:
                contradictions.append(
                    f"{label.annotator}, {label.answer}: {differing[0]} is {getattr(earlier, differing[0])!r} in "
                    f"{place} and {getattr(label, differing[0])!r} in {file}"
                )
    if contradictions:
        raise RecordError(
            "an annotator gave two different labels to an answer; remove one of each pair:\n"
            + "\n".join(contradictions)
        )
    return [label for label, _ in found.values()]


def write_labels(file: Path, labels: Iterable[Label]) -> None:
    """Write labels as JSON Lines. An existing file is replaced atomically."""
    write_whole(file, "".join(label.model_dump_json() + "\n" for label in labels).encode())


def by_answer(labels: Iterable[Label]) -> dict[Answer, list[Label]]:
    """Group labels by answer, in the order in which the answers first occur."""
    groups: dict[Answer, list[Label]] = {}
    for label in labels:
        groups.setdefault(label.answer, []).append(label)
    return groups


def of_people(labels: Iterable[Label]) -> dict[Answer, list[Label]]:
    """Return the labels that count for each answer: the adjudicated label if there is one, otherwise all labels."""
    return {
        answer: [item for item in items if item.annotator == ADJUDICATED] or items
        for answer, items in by_answer(labels).items()
    }


def majority(categories: Sequence[Category]) -> Category | None:
    """Return the category of more than half of the votes or labels, or None if there is no such category."""
    if not categories:
        return None
    category, count = Counter(categories).most_common(1)[0]
    return category if 2 * count > len(categories) else None


def disputed(labels: Iterable[Label]) -> dict[Answer, list[Label]]:
    """Return the labels of each disputed answer: one without a majority, or with both CC and LI among its labels."""
    return {answer: items for answer, items in by_answer(labels).items() if _settled(items) is None}


def adjudicated(labels: Sequence[Label], decisions: Iterable[Label] = ()) -> list[Label]:
    """Merge the labels of each answer into one adjudicated label.

    If there is a majority, the adjudicated label has the most frequent error class and all reasons of the majority. Its
    `seconds`, the time that labelling took, is None.

    Args:
        labels: The annotators' labels.
        decisions: The labels that third persons gave to disputed answers.

    Returns:
        A label of the annotator `ADJUDICATED` for each answer that is undisputed or has a decision.

    Raises:
        UsageError: A decision is about an answer that is not disputed, comes from an annotator of that answer, or
            contradicts another decision.
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
            raise UsageError(f"{item.answer}: this answer is not disputed; remove the decision of {item.annotator}")
        if item.annotator in {label.annotator for label in open_[item.answer]}:
            raise UsageError(f"{item.answer}: {item.annotator} has labelled this answer; another person must decide")
        earlier = decided.setdefault(item.answer, item)
        if earlier.category != item.category:
            raise UsageError(f"{item.answer}: the decisions of {earlier.annotator} and {item.annotator} differ")
    return decided
