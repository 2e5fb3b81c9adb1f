"""Name the answers that people label, and draw the annotators' queues of answers from a seed.

An item is an answer under an opaque name. The option --overlap sets the number of annotators that label each item. The
lengths of the queues differ by at most one. Calibration items, whose categories are known, are assigned to all
annotators and come first.
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


class KnownVerdict(StoredRecord):
    """A line of a calibration file: the known category of an answer in a run, or of code that the line contains.

    Attributes:
        task: The id of the task.
        category: The known category.
        error_class: The known error class.
        reason: The explanation that annotators see.
        code: The code, as in a submission; None if the line is about an answer in a run.
        system: The system that gave the answer, if the answer is in a run.
        sample: The sample number of the answer, if the answer is in a run.
        annotator: Ignored; accepted because adjudicated labels have this key.
        seconds: Ignored; accepted because adjudicated labels have this key.
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
    """An answer to label.

    Attributes:
        name: The opaque name.
        answer: The system, task and sample of the answer.
        submission: The submission, which contains the answer's code.
        known: The line of the calibration file, or None if this is not a calibration item.
    """

    name: str
    answer: Answer
    submission: Submission
    known: KnownVerdict | None = None


def read_known(
    file: Path, answers: Mapping[Answer, Submission], tasks: Iterable[str]
) -> dict[Answer, tuple[KnownVerdict, Submission]]:
    """Read a calibration file.

    Args:
        file: The file, in JSON Lines.
        answers: The submissions of the runs, by the system, task and sample of the answer.
        tasks: The ids of the suite's tasks.

    Returns:
        The line and the submission of each calibration item, by answer. If the line contains the code, the system of
        the answer is "", which is not the name of any system in a run.

    Raises:
        RecordError: The file has no lines, or a line is damaged, names an unknown task or answer, lacks a reason or
            repeats an answer.
    """
    known_tasks = set(tasks)
    found = {}
    for number, item in enumerate(read_submitted_lines(file, KnownVerdict), 1):
        place = f"{file}: calibration item {number}"
        if item.task not in known_tasks:
            raise RecordError(f"{place}: task: the suite has no task {item.task!r}")
        if item.category != "CC" and not item.reason.strip():
            raise RecordError(f"{place}: reason: missing; {item.category} needs a reason, which annotators will see")
        answer = Answer(item.system, item.task, item.sample) if item.code is None else Answer("", item.task, number)
        if item.code is not None:
            submission = Submission(system="calibration", task=item.task, code=item.code)
        elif answer in answers:
            submission = answers[answer]
        else:
            raise RecordError(f"{place}: {answer} is not in these runs; add its run, or put the code in the line")
        if answer in found:
            raise RecordError(f"{place}: {answer} is in the file twice; remove one of the lines")
        found[answer] = (item, submission)
    if not found:
        raise RecordError(f"{file} contains no calibration items")
    return found


def items_of(
    answers: Mapping[Answer, Submission], known: Mapping[Answer, tuple[KnownVerdict, Submission]], seed: int
) -> dict[str, Item]:
    """Give opaque names to the answers and the calibration items.

    Args:
        answers: The submissions to label, by the system, task and sample of the answer.
        known: The calibration items; see `read_known`.
        seed: The seed of the opaque names.

    Returns:
        The items by opaque name. An answer whose category is known is used for calibration only.
    """
    return {
        name: Item(name, answer, known[answer][1], known[answer][0])
        if answer in known
        else Item(name, answer, answers[answer])
        for name, answer in blinded({*answers, *known}, seed).items()
    }


def check_annotators(annotators: Sequence[str], overlap: int) -> None:
    """Check the options --annotator and --overlap.

    Args:
        annotators: The names of the annotators.
        overlap: The number of annotators per item.

    Raises:
        UsageError: A name is invalid, reserved or repeated, or the overlap exceeds the number of annotators.
    """
    for name in annotators:
        if not name.strip() or not name.isprintable() or len(name) > MAX_NAME:
            raise UsageError(f"--annotator {name!r}: expected a name of 1 to {MAX_NAME} printable characters")
        if name == ADJUDICATED:
            raise UsageError(f"--annotator {name}: reserved for adjudicated labels; choose another name")
        if annotators.count(name) > 1:
            raise UsageError(f"--annotator {name}: given twice; name each annotator once")
    if overlap > len(annotators):
        raise UsageError(f"--overlap {overlap} exceeds the number of annotators ({len(annotators)})")


def draw_queues(items: Mapping[str, Item], annotators: Sequence[str], overlap: int, seed: int) -> dict[str, list[str]]:
    """Draw a queue of items for each annotator.

    Args:
        items: The items by name.
        annotators: The names of the annotators.
        overlap: The number of annotators per item.
        seed: The random seed.

    Returns:
        The names of each annotator's items: calibration items first, then the others, both in random order.
    """
    people = sorted(annotators)
    generator = random.Random(f"{seed} {people} {overlap}")
    calibration = sorted(name for name, item in items.items() if item.known)
    queues: dict[str, list[str]] = {name: [] for name in people}
    order = sorted(name for name, item in items.items() if not item.known)
    generator.shuffle(order)
    for item in order:
        # Add the item to the shortest queues. Ties are broken at random, so that all pairs of annotators share items.
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
    known: Mapping[Answer, tuple[KnownVerdict, Submission]],
    tasks: Mapping[str, Task],
) -> dict[str, object]:
    """Return the settings that must not change when an annotation is resumed.

    The keys are the names that error messages use.

    Args:
        annotators: The names of the annotators.
        overlap: The number of annotators that label each answer.
        seed: The seed that the queues are drawn from.
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
