"""What came of it so far: labels and decisions as the other commands read them, progress, agreement, disagreements."""

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
class Progress:
    """How far an annotator is. right: calibration items on which they say what is known. seconds: each, on average."""

    annotator: str
    labelled: int
    of: int
    calibrated: int
    calibrations: int
    right: int
    seconds: float | None


@dataclass(frozen=True)
class Dispute:
    """An item on which annotators disagree so that somebody else decides, and what was decided.

    version: of its labels. missing: how many labels are still to come. outdated: the decision was made on other labels.
    """

    item: Item
    labels: Sequence[Assignment]
    version: str
    missing: int
    decision: Decision | None
    outdated: bool


def write_results(folder: Path, store: Store, items: Mapping[str, Item]) -> None:
    """Write labels, the key, and the decisions that hold; whoever reads a file finds the old content or the new."""
    write_labels(folder / LABELS, labels_of(store, items))
    write_key(folder / KEY, {name: item.answer for name, item in items.items() if not item.known})
    rows = [
        {
            "item": found.item.name,
            "task": found.item.answer.task,
            "annotator": found.decision.decider,
            "category": found.decision.said.category,
            "error_class": found.decision.said.error_class,
            "reason": found.decision.said.reason,
        }
        for found in disputes(store, items)
        if found.decision and not found.outdated
    ]
    if rows:
        write_sheet(folder / DECISIONS, rows, replace=True)
    else:
        (folder / DECISIONS).unlink(missing_ok=True)


def labels_of(store: Store, items: Mapping[str, Item]) -> list[Label]:
    """All labels but those of calibration items."""
    return [_label(each, items[each.item]) for each in store.assignments() if each.done and not items[each.item].known]


def _label(said: Assignment, item: Item) -> Label:
    return Label.model_validate(
        {
            **item.answer._asdict(),
            "annotator": said.annotator,
            **said.said._asdict(),
            "error_class": said.said.error_class or None,
        }
    )


def progress(store: Store, items: Mapping[str, Item]) -> list[Progress]:
    """How far each annotator is."""
    found: dict[str, list[Assignment]] = {name: [] for name in sorted(store.tokens()) if name}
    for each in store.assignments():
        found[each.annotator].append(each)
    return [_progress(name, queue, items) for name, queue in found.items()]


def _progress(name: str, queue: Sequence[Assignment], items: Mapping[str, Item]) -> Progress:
    asked = [each for each in queue if not each.calibration]
    calibration = [(each, known) for each in queue if (known := items[each.item].known)]
    seconds = [each.said.seconds for each in asked if each.done and each.said.seconds is not None]
    return Progress(
        annotator=name,
        labelled=sum(each.done for each in asked),
        of=len(asked),
        calibrated=sum(each.done for each, _ in calibration),
        calibrations=len(calibration),
        right=sum(each.done and each.said.category == known.category for each, known in calibration),
        seconds=sum(seconds) / len(seconds) if seconds else None,
    )


@lru_cache(maxsize=1)
def agreements(labels: tuple[Label, ...]) -> list[tuple[str, str, Agreement]]:
    """How far each two annotators agree on what both labelled, without intervals."""
    said: dict[str, dict[tuple[str, str, int], str]] = {}
    for label in labels:
        said.setdefault(label.annotator, {})[label.answer] = label.category
    found = []
    for one, other in combinations(sorted(said), 2):
        both = sorted(said[one].keys() & said[other].keys())
        # Intervals take seconds; of one paper there is none, so that all count as of one.
        found.append(
            (
                one,
                other,
                agreement([said[one][each] for each in both], [said[other][each] for each in both], [""] * len(both)),
            )
        )
    return found


def disputes(store: Store, items: Mapping[str, Item]) -> list[Dispute]:
    """The items that a third person has to decide on, as `judging.labels` has it; undecided ones first."""
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
