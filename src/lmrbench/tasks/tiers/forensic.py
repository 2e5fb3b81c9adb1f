"""Forensic tasks: find undocumented changes to a repository from the results that the changed program logged.

The `deviations.toml` of a paper defines its pool of deviations, which are plausible alternatives to a few lines of the
repository. A draw picks some deviations from the pool; the repository with these deviations is the changed program. The
solver sees the faithful repository, without deviations, and the results that the changed program logged.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path

from pydantic import Field

from lmrbench.errors import TaskError, UsageError
from lmrbench.records import Record
from lmrbench.source.syntax import decode, syntax_tree
from lmrbench.tasks.bounds import Tolerance
from lmrbench.tasks.digests import files_digest
from lmrbench.tasks.edits import FileEdit, Sentence, edited_files, place_of
from lmrbench.tasks.files import parsed_table, validated
from lmrbench.tasks.model import Draw, DrawId, Limits, Name, Task, TaskFiles
from lmrbench.tasks.tiers.logged import EXPERIMENT, fresh_check
from lmrbench.tasks.workspace import third_party_imports

FILE = "deviations.toml"
# The draws that measure a system's horizon have these numbers of deviations. The horizon is the number of deviations at
# which the system solves half of the tasks.
LADDER = (1, 2, 3, 4, 6, 8, 12)
# The number of deviations that an entangled draw takes from one stage of the experiment.
TOGETHER = 3
_NAME = re.compile(r"forensic_(\d+)_(\d+)(_entangled)?")
_INSTRUCTION = """
The repository in `repo/` does what the paper says. A changed copy of it was run. In this copy, {places} {was} written
differently, in at most a few lines each: a programmer may read the paper differently there, or choose another constant.
Only {files} may differ from the copy; this includes any
code there that generates data. Everything else, including the seeds, is the same.

`results.json` contains the metrics that `run(seed)` in the `experiment.py` of the changed copy returned for the seeds
{seeds}, by stage, in the order in which the program computes them. `python replay.py` runs the repository in the same
way (one thread, double precision) and prints, for each stage, the metrics that differ.

Find the changes and make them in the repository, so that it gives the metrics of the changed copy for every seed.
It is graded with seeds that are not published. Metrics agree if they differ by at most {atol} + {rtol} times the value.
The metrics under `rates` are for information only and are not graded.
"""


class Deviation(FileEdit):
    """A change of a few lines of the repository.

    Attributes:
        why: How the changed program deviates from the paper.
        allowed_by: The sentence of the paper that can be read this way, or the detail that the paper leaves open.
        stage: The first stage of the experiment whose metrics the change affects.
    """

    why: Sentence
    allowed_by: Sentence
    stage: str = Field(min_length=1)


# Any task of a paper, and a draw from the paper's pool.
Drawn = tuple[Task, DrawId]


class DeviationPool(Record):
    """The pool of a paper, as described by its `deviations.toml`.

    Attributes:
        tolerance: The tolerance within which metrics agree.
        trains: For some metrics, the smallest and the largest value at which a changed program still counts as working.
        draws: The published draws.
        deviation: All deviations by name.
    """

    tolerance: Tolerance = Tolerance(rtol=1e-5, atol=1e-7)
    trains: dict[str, tuple[float, float]] = Field(default_factory=dict)
    draws: tuple[Draw, ...] = ()
    deviation: dict[Name, Deviation] = Field(min_length=1)


def deviation_pool(task: Task) -> DeviationPool:
    """Load the pool of a task's paper and check that each deviation can be applied.

    Raises:
        TaskError: The paper has no pool, the pool is malformed, or a deviation cannot be applied or parsed. The message
            names the file and the key.
    """
    file = task.folder / FILE
    pool = parsed_pool(task)
    for name, item in pool.deviation.items():
        for path, data in changed(task.files.repository, {name: item}, file).items():
            try:
                compile(data, path, "exec", dont_inherit=True)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                raise TaskError(f"{file}: deviation.{name}: {error}") from error
    return pool


def parsed_pool(task: Task) -> DeviationPool:
    """Parse the pool of a task's paper without applying its deviations.

    Raises:
        TaskError: The paper has no pool, or the pool is malformed.
    """
    file = task.folder / FILE
    if not task.files.deviations:
        raise TaskError(f"{file}: there is no such file, so {task.paper.slug} has no forensic tasks")
    return validated(DeviationPool, parsed_table(task.files.deviations, file), file, "")


def changed(
    repository: Mapping[str, bytes], deviations: Mapping[str, Deviation], file: Path = Path(FILE)
) -> dict[str, bytes]:
    """Apply deviations to a repository.

    Args:
        repository: The files by path.
        deviations: The deviations by name.
        file: The file of the pool, for messages.

    Returns:
        The new content of each file that the deviations change, by path.

    Raises:
        TaskError: A file does not exist, the lines that a deviation replaces do not occur exactly once in their file, a
            deviation changes nothing, or two deviations change the same line.
    """
    return edited_files(repository, deviations.values(), f"{file}: deviation.{', '.join(deviations)}")


def chosen(task: Task, pool: DeviationPool, draw: Draw) -> dict[str, Deviation]:
    """Return the deviations of a draw. No two of them change the same line.

    The result depends only on the pool, on the repository, and on the count, seed, entanglement and attempt.

    Args:
        task: A task of the paper.
        pool: The pool of the paper.
        draw: The count, seed, entanglement and attempt; its deviations are ignored.

    Returns:
        The deviations by name, sorted.

    Raises:
        UsageError: The pool has fewer compatible deviations than the draw asks for.
    """
    repository = task.files.repository
    places = {
        name: (item.file, *place_of(decode(repository[item.file])[0], item, name))
        for name, item in pool.deviation.items()
    }
    key = f"{pool_digest(task, pool)} {draw.count} {draw.seed} {draw.attempt}"
    left = sorted(pool.deviation, key=lambda name: _digest(f"{key} {name}"))
    names: list[str] = []
    for stage in _turns(pool, key, draw.entangled):
        left = [name for name in left if not any(_overlap(places[name], places[other]) for other in names)]
        if len(names) == draw.count or not left:
            break
        name = next((name for name in left if pool.deviation[name].stage == stage), None)
        if name is not None:
            names.append(name)
    if len(names) < draw.count:
        raise UsageError(f"{task.paper.slug}: the pool has fewer than {draw.count} deviations that can be combined")
    return {name: pool.deviation[name] for name in sorted(names)}


def _turns(pool: DeviationPool, key: str, entangled: bool) -> Iterator[str]:
    """Return an endless iterator over the stages from which the deviations are drawn in turn."""
    stages = sorted({item.stage for item in pool.deviation.values()}, key=lambda stage: _digest(f"{key} {stage}"))
    together = [stage for stage in stages for _ in range(TOGETHER if entangled else 1)]
    return chain(together, chain.from_iterable(repeat(stages)))


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def pool_digest(task: Task, pool: DeviationPool) -> str:
    """Return the SHA-256 of the pool and the repository, both of which determine the deviations of a draw."""
    deviations = {name: item.model_dump(mode="json") for name, item in pool.deviation.items()}
    bounds = pool.model_dump(mode="json", include={"trains", "tolerance"})
    files = {"deviations": json.dumps([deviations, bounds], sort_keys=True).encode()}
    return files_digest({**files, **{f"repo/{path}": data for path, data in task.files.repository.items()}})


def is_forensic(task_id: str) -> bool:
    """Return whether a task id, such as `dpo/forensic_3_17`, is that of a forensic task."""
    return draw_id(task_id.partition("/")[2]) is not None


def draw_id(name: str) -> DrawId | None:
    """Parse the name of a forensic task. Returns None for any other name."""
    match = _NAME.fullmatch(name)
    return DrawId(int(match[1]), int(match[2]), match[3] is not None) if match else None


def forensic_task(task: Task, pool: DeviationPool, draw: Draw, results: str = "") -> Task:
    """Make the task of a draw. The reference of this task is the changed program.

    Args:
        task: Any task of the paper.
        pool: The pool of the paper.
        draw: The draw with its deviations.
        results: The metrics that the changed program logged under the published seeds, as JSON by seed.
    """
    repository = task.files.repository
    shown = {path: repository[path] for path in dict.fromkeys(item.file for item in pool.deviation.values())}
    golden = {**repository, **changed(repository, {name: pool.deviation[name] for name in draw.deviations})}
    seeds = ", ".join(json.loads(results)) if results else ""
    text = _INSTRUCTION.format(
        places="one place" if draw.count == 1 else f"{draw.count} places",
        was="was" if draw.count == 1 else "were",
        files=", ".join(f"`{path}`" for path in shown),
        seeds=seeds,
        rtol=pool.tolerance.rtol,
        atol=pool.tolerance.atol,
    )
    return Task(
        name=str(draw.id),
        tier="forensic",
        category=task.category,
        instruction=text,
        check="experiment.py",
        tolerances={EXPERIMENT: pool.tolerance},
        limits=Limits(),
        suite=task.suite,
        paper=task.paper,
        folder=task.folder,
        files=TaskFiles(
            repository=golden,
            check=fresh_check(third_party_imports(task)),
            summary=task.files.summary,
            deviations=task.files.deviations,
            results=results,
            shown=shown,
        ),
        draw=draw,
        beside=task.beside,
    )


def share_found(task: Task, answered: Mapping[str, str]) -> float:
    """Return the share of a draw's deviations that a submission contains literally, apart from layout and comments.

    This is a lower bound: equivalent code that is written differently is not recognized.

    Args:
        task: The forensic task.
        answered: The goal files of the submission, normalized by `in_one_layout`.
    """
    assert task.draw is not None
    faithful = {**task.files.repository, **task.files.shown}
    pool = deviation_pool(task.model_copy(update={"files": replace(task.files, repository=faithful)}))
    return sum(_is_made(pool.deviation[name], faithful, answered) for name in task.draw.deviations) / task.draw.count


def _is_made(deviation: Deviation, faithful: Mapping[str, bytes], answered: Mapping[str, str]) -> bool:
    path = deviation.file
    made, before, ours = (
        Counter(text.splitlines())
        for text in (
            in_one_layout(changed(faithful, {"": deviation})[path]),
            in_one_layout(faithful[path]),
            answered.get(path, ""),
        )
    )
    return all(ours[line] > before[line] for line in made - before) and all(
        ours[line] < before[line] for line in before - made
    )


def in_one_layout(data: bytes) -> str:
    """Normalize the layout of a Python file and drop its comments; return "" if the file cannot be parsed.

    Normalize files of submissions in a separate process only (see `lmrbench.grading.reading`), because parsing them can
    take unbounded time.
    """
    try:
        return ast.unparse(syntax_tree(decode(data)[0]))
    except (SyntaxError, ValueError, RecursionError):
        return ""


def _overlap(one: tuple[str, int, int], other: tuple[str, int, int]) -> bool:
    return one[0] == other[0] and one[1] < other[2] and other[1] < one[2]
