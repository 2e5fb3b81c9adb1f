"""Who labels what, and in which order? Drawn from a seed, so that the same command draws the same.

An item is an answer under an opaque name. Each goes to as many annotators as the overlap asks for, and queues differ in
length by one at most. Items for calibration, whose verdict is known, go to everyone and come first.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lmrbench.errors import RecordError, UsageError
from lmrbench.jsonl import read_submitted_lines
from lmrbench.judging.labels import ADJUDICATED
from lmrbench.judging.sheets import blinded
from lmrbench.records import StoredRecord
from lmrbench.runs.records import Category, ErrorClass
from lmrbench.tasks.digests import suite_digest
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Answer, Submission, Text
from lmrbench.text import counted

MAX_NAME = 100


class Known(StoredRecord):
    """A line of a calibration file: the verdict on an answer of the runs, or on code of its own.

    code: as a submission has it; None for an answer of the runs, which system, task and sample name. annotator and
    seconds are not read: they are here so that adjudicated labels are such lines, too.
    """

    task: str
    category: Category
    error_class: ErrorClass | None = None
    reason: str = ""
    code: Text | dict[Text, Text] | None = None
    system: str = ""
    sample: int = 0
    annotator: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class Item:
    """Something to label, under its opaque name. known: its verdict, where it is there for calibration."""

    name: str
    answer: Answer
    submission: Submission
    known: Known | None = None


def read_known(
    file: Path, answers: Mapping[Answer, Submission], tasks: Iterable[str]
) -> dict[Answer, tuple[Known, Submission]]:
    """The lines of a calibration file with the answers that they are of. Raises RecordError for one that can't be used.

    Code that a line brings along is an answer of a system without a name, which no run has.
    """
    known_tasks = set(tasks)
    found = {}
    for number, item in enumerate(read_submitted_lines(file, Known), 1):
        place = f"{file}: calibration item {number}"
        if item.task not in known_tasks:
            raise RecordError(f"{place}: task: there is no task {item.task!r} in this suite")
        if item.category != "CC" and not item.reason.strip():
            raise RecordError(f"{place}: reason: is missing; {item.category} needs one, which annotators are shown")
        answer = Answer(item.system, item.task, item.sample) if item.code is None else Answer("", item.task, number)
        if item.code is not None:
            submission = Submission(system="calibration", task=item.task, code=item.code)
        elif answer in answers:
            submission = answers[answer]
        else:
            raise RecordError(f"{place}: {answer} is not in these runs; name its run, or give the code itself")
        if answer in found:
            raise RecordError(f"{place}: {answer} is there twice")
        found[answer] = (item, submission)
    if not found:
        raise RecordError(f"{file}: holds no calibration items")
    return found


def items_of(
    answers: Mapping[Answer, Submission], known: Mapping[Answer, tuple[Known, Submission]], seed: int
) -> dict[str, Item]:
    """Answers and calibration items, by opaque names. An answer whose verdict is known is for calibration alone."""
    return {
        name: Item(name, answer, known[answer][1], known[answer][0])
        if answer in known
        else Item(name, answer, answers[answer])
        for name, answer in blinded({*answers, *known}, seed).items()
    }


def check_annotators(annotators: Sequence[str], overlap: int) -> None:
    """Raises UsageError for names that can't be told apart or kept, and for an overlap of more than there are."""
    for name in annotators:
        if not name.strip() or not name.isprintable() or len(name) > MAX_NAME:
            raise UsageError(f"--annotator {name!r}: must be a name of at most {MAX_NAME} characters")
        if name == ADJUDICATED:
            raise UsageError(f"--annotator {name}: nobody may be called so; it is the name of what was adjudicated")
        if annotators.count(name) > 1:
            raise UsageError(f"--annotator {name}: is named twice")
    if overlap > len(annotators):
        raise UsageError(f"--overlap {overlap}: there are {len(annotators)} annotators only")


def drawn(items: Mapping[str, Item], annotators: Sequence[str], overlap: int, seed: int) -> dict[str, list[str]]:
    """The queue of each annotator: calibration items first, then what was drawn, each in an order of its own."""
    people = sorted(annotators)
    generator = random.Random(f"{seed} {people} {overlap}")
    calibration = sorted(name for name, item in items.items() if item.known)
    queues: dict[str, list[str]] = {name: [] for name in people}
    order = sorted(name for name, item in items.items() if not item.known)
    generator.shuffle(order)
    for item in order:
        # Those with the fewest come first; who of them is chance, so that everyone meets everyone.
        for name in sorted(people, key=lambda name: (len(queues[name]), generator.random()))[:overlap]:
            queues[name].append(item)
    for queue in queues.values():
        generator.shuffle(queue)
    return {name: [*generator.sample(calibration, len(calibration)), *queue] for name, queue in queues.items()}


def conditions(
    annotators: Iterable[str],
    overlap: int,
    seed: int,
    items: Mapping[str, Item],
    answers: Mapping[Answer, Submission],
    chosen: Iterable[Answer],
    known: Mapping[Answer, tuple[Known, Submission]],
    tasks: Mapping[str, Task],
) -> dict[str, object]:
    """Return the settings that may not change when an annotation is resumed, by the names that messages use.

    Args:
        annotators: The names of the annotators.
        overlap: How many of them label each answer.
        seed: What the queues are drawn from.
        items: The items, by opaque name.
        answers: All answers of the runs.
        chosen: The answers to label.
        known: The calibration items.
        tasks: The tasks of the suite, by id.
    """
    code = sorted([*answer, json.dumps(item.code, sort_keys=True)] for answer, item in answers.items())
    verdicts = [f"{answer}: {item.model_dump_json()}" for answer, (item, _) in known.items()]
    shown = {item.answer.task for item in items.values()}
    return {
        "annotators": sorted(annotators),
        "overlap": overlap,
        "seed": seed,
        "runs": f"{counted(len(code), 'answer')}, {_digest(code)}",
        "tasks": sorted({answer.task for answer in chosen}),
        "content of these tasks": f"SHA-256 {suite_digest(tasks[name] for name in shown)[:16]}",
        "calibration items": f"{len(verdicts)}, {_digest(verdicts)}" if verdicts else "none",
    }


def _digest(value: object) -> str:
    return f"SHA-256 {hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]}"
