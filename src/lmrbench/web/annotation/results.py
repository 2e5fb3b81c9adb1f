"""Results of an annotation: files of labels and decisions, progress, agreement, and disputes.

An annotation is a project in which several people label items, which are answers under opaque names. A calibration item
is an answer whose category is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from pathlib import Path

from lmrbench.judging.agreement import Agreement, agreement
from lmrbench.judging.labels import disputed, write_labels
from lmrbench.judging.sheets import write_key, write_sheet
from lmrbench.runs.folder import LABELS
from lmrbench.runs.records import Label
from lmrbench.web.annotation.queues import Item
from lmrbench.web.annotation.store import Assignment, Decision, Store, version_of

KEY, DECISIONS = "key.jsonl", "decisions.jsonl"


@dataclass(frozen=True)
class AnnotatorProgress:
    """The progress of one annotator.

    Attributes:
        annotator: The name of the annotator.
        labelled: The number of labelled items, without calibration items.
        of: The number of items in the queue, without calibration items.
        calibrated: The number of labelled calibration items.
        calibrations: The number of calibration items.
        right: The number of calibration items whose label has the known category.
        seconds: The mean time per item in seconds, or None if no times were recorded.
    """

    annotator: str
    labelled: int
    of: int
    calibrated: int
    calibrations: int
    right: int
    seconds: float | None


@dataclass(frozen=True)
class Dispute:
    """An item whose labels disagree so much that another person must decide.

    Attributes:
        item: The item.
        labels: The labels so far.
        version: A digest of the labels; see `lmrbench.web.annotation.store.version_of`.
        missing: The number of labels that are still missing.
        decision: The decision, or None if there is none.
        outdated: Whether a label changed after the decision.
    """

    item: Item
    labels: Sequence[Assignment]
    version: str
    missing: int
    decision: Decision | None
    outdated: bool


def write_results(folder: Path, store: Store, items: Mapping[str, Item]) -> None:
    """Write the labels, the decisions that are not outdated, and the key, which maps items to answers.

    Each file is replaced atomically.

    Args:
        folder: The folder of the annotation.
        store: The database of the annotation.
        items: The items by name.
    """
    write_labels(folder / LABELS, labels_of(store, items))
    write_key(folder / KEY, {name: item.answer for name, item in items.items() if not item.known})
    rows = [
        {
            "item": found.item.name,
            "task": found.item.answer.task,
            "annotator": found.decision.decider,
            "category": found.decision.content.category,
            "error_class": found.decision.content.error_class,
            "reason": found.decision.content.reason,
        }
        for found in disputes(store, items)
        if found.decision and not found.outdated
    ]
    if rows:
        write_sheet(folder / DECISIONS, rows, replace=True)
    else:
        (folder / DECISIONS).unlink(missing_ok=True)


def labels_of(store: Store, items: Mapping[str, Item]) -> list[Label]:
    """Return all labels except those of calibration items."""
    return [_label(each, items[each.item]) for each in store.assignments() if each.done and not items[each.item].known]


def _label(assignment: Assignment, item: Item) -> Label:
    return Label.model_validate(
        {
            **item.answer._asdict(),
            "annotator": assignment.annotator,
            **assignment.content._asdict(),
            "error_class": assignment.content.error_class or None,
        }
    )


def progress(store: Store, items: Mapping[str, Item]) -> list[AnnotatorProgress]:
    """Return the progress of each annotator."""
    found: dict[str, list[Assignment]] = {name: [] for name in sorted(store.tokens()) if name}
    for each in store.assignments():
        found[each.annotator].append(each)
    return [_progress(name, queue, items) for name, queue in found.items()]


def _progress(name: str, queue: Sequence[Assignment], items: Mapping[str, Item]) -> AnnotatorProgress:
    asked = [each for each in queue if not each.calibration]
    calibration = [(each, known) for each in queue if (known := items[each.item].known)]
    seconds = [each.content.seconds for each in asked if each.done and each.content.seconds is not None]
    return AnnotatorProgress(
        annotator=name,
        labelled=sum(each.done for each in asked),
        of=len(asked),
        calibrated=sum(each.done for each, _ in calibration),
        calibrations=len(calibration),
        right=sum(each.done and each.content.category == known.category for each, known in calibration),
        seconds=sum(seconds) / len(seconds) if seconds else None,
    )


@lru_cache(maxsize=1)
def agreements(labels: tuple[Label, ...]) -> list[tuple[str, str, Agreement]]:
    """Return the agreement of each pair of annotators, without bootstrap intervals.

    Args:
        labels: The labels of all annotators.

    Returns:
        For each pair of annotators, their names and their agreement on the items that both labelled.
    """
    categories: dict[str, dict[tuple[str, str, int], str]] = {}
    for label in labels:
        categories.setdefault(label.annotator, {})[label.answer] = label.category
    found = []
    for one, other in combinations(sorted(categories), 2):
        both = sorted(categories[one].keys() & categories[other].keys())
        # Intervals take seconds to compute. They are omitted if all items have the same paper, so pass "" as the paper
        # of each item.
        first, second = ([categories[name][each] for each in both] for name in (one, other))
        found.append((one, other, agreement(first, second, [""] * len(both))))
    return found


def disputes(store: Store, items: Mapping[str, Item]) -> list[Dispute]:
    """Return the disputed items, undecided ones first; see `lmrbench.judging.labels.disputed` for the definition.

    Args:
        store: The database of the annotation.
        items: The items by name.

    Returns:
        The disputes.
    """
    by_item: dict[str, list[Assignment]] = {}
    for each in store.assignments():
        if not each.calibration:
            by_item.setdefault(each.item, []).append(each)
    open_ = disputed(labels_of(store, items))
    decisions = store.decisions()
    found = []
    for name, queue in by_item.items():
        if items[name].answer in open_:
            decision, version = decisions.get(name), version_of(queue)
            labels = [each for each in queue if each.done]
            outdated = decision is not None and decision.version != version
            found.append(Dispute(items[name], labels, version, len(queue) - len(labels), decision, outdated))
    return sorted(found, key=lambda each: (each.decision is not None and not each.outdated, each.item.name))
