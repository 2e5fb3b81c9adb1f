"""Open an annotation: draw the annotators' queues, and open the database.

An annotation is a project in which several people label answers under opaque names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from lmrbench.files import locked
from lmrbench.grading.selection import Selection
from lmrbench.judging.answers import answers_to_label
from lmrbench.web.annotation.app import Annotation
from lmrbench.web.annotation.queues import conditions, draw_queues, items_of, read_known
from lmrbench.web.annotation.store import open_store


@contextmanager
def open_annotation(
    folder: Path,
    runs: Sequence[Path],
    tasks: Selection,
    annotators: Sequence[str],
    overlap: int,
    seed: int,
    calibration: Path | None,
) -> Iterator[Annotation]:
    """Create an annotation, or resume it. The folder is locked until the context ends.

    Args:
        folder: The folder of the annotation, with its database and results.
        runs: The run folders whose answers are labelled.
        tasks: The tasks of the suite, and the selection of those whose answers are labelled.
        annotators: The names of the annotators, validated by `queues.check_annotators`.
        overlap: The number of annotators that label each answer.
        seed: The random seed for the opaque names and the queues.
        calibration: The calibration file, which contains answers whose categories are known; None for no calibration.

    Yields:
        The annotation.

    Raises:
        UsageError: There is nothing to label, or the annotation was created with other settings.
        RecordError: A file is damaged, or another process has opened the annotation.
    """
    known_tasks = tasks.by_id
    answers, chosen = answers_to_label(runs, known_tasks, tasks.names)
    known = read_known(calibration, answers, known_tasks) if calibration else {}
    items = items_of({answer: answers[answer] for answer in chosen}, known, seed)
    asked = conditions(annotators, overlap, seed, items, answers, chosen, known, known_tasks)
    queues = draw_queues(items, annotators, overlap, seed)
    calibrations = {name for name, item in items.items() if item.known}
    with locked(folder), closing(open_store(folder, asked, queues, calibrations)) as store:
        yield Annotation(folder, store, items, known_tasks)
