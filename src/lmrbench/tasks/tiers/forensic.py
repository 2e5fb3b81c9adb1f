"""Which small changes of a paper's repository are there, and what is the task of finding some of them by what they log?

`deviations.toml` of a paper holds its pool: plausible ways to write a few lines otherwise. A draw of the pool makes a
changed program. The solver of a forensic task sees the faithful repository, and what the changed program logged.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import Field

from lmrbench.errors import TaskError, UsageError
from lmrbench.records import Record
from lmrbench.source.syntax import decode, syntax_tree
from lmrbench.tasks.digests import files_digest
from lmrbench.tasks.edits import LineEdit, Sentence, edited, place_of
from lmrbench.tasks.files import parsed_table, validated
from lmrbench.tasks.model import Draw, Limits, Name, RelativePath, Task, TaskFiles, Tier, Tolerance
from lmrbench.tasks.selection import select
from lmrbench.tasks.tiers.logged import EXPERIMENT, fresh_check
from lmrbench.tasks.workspace import third_party_imports

FILE = "deviations.toml"
# How many deviations fresh draws have.
FRESH_COUNTS = (1, 3, 5, 8)
# A task of a paper, how many deviations to draw there, and the seed.
Drawn = tuple[Task, int, int]
_NAME = re.compile(r"forensic_(\d+)_(\d+)")
_INSTRUCTION = """
The repository in `repo/` does what the paper says. A changed copy of it was run, in which {places} where a programmer
may read the paper otherwise, or choose another constant, {was} written differently, in at most a few lines each.
What may differ stands in {files}; where one of these files
makes data, the way in which it does so may differ, too. Everything else, seeds included, was as it is here.

`results.json` holds the metrics that `run(seed)` of the changed copy's `experiment.py` returned under the seeds
{seeds}. `python replay.py` runs the repository in the same way (one thread, double precision) and prints each metric
that differs.

Find what was changed, and change the repository in the same way, so that it gives the metrics of the changed copy
under every seed. It is graded under seeds that are not published. Metrics agree if they differ by at most
{atol} + {rtol} times the value.
"""


class Deviation(LineEdit):
    """Lines of one file of the repository, and what stands there in a program that deviates from it.

    why: in what it deviates.
    """

    file: RelativePath
    why: Sentence


class DeviationPool(Record):
    """`deviations.toml`. deviation: all of them, by name.

    trains: metrics by name, with the least and the largest value under which a changed program still counts as one
    that works. tolerance: within which metrics are the same. draws: those that are published.
    """

    tolerance: Tolerance = Tolerance(rtol=1e-5, atol=1e-7)
    trains: dict[str, tuple[float, float]] = Field(default_factory=dict)
    draws: tuple[Draw, ...] = ()
    deviation: dict[Name, Deviation] = Field(min_length=1)


def deviation_pool(task: Task) -> DeviationPool:
    """The pool of a task's paper.

    Raises TaskError, which names file and key, where there is none, for lines that are not in the repository, and for
    a deviation that Python can't read.
    """
    file = task.folder / FILE
    pool = parsed_pool(task)
    for name, item in pool.deviation.items():
        if item.file not in task.files.repository:
            raise TaskError(f"{file}: deviation.{name}.file: there is no file repo/{item.file}")
        for path, data in changed(task.files.repository, {name: item}, file).items():
            try:
                compile(data, path, "exec", dont_inherit=True)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                raise TaskError(f"{file}: deviation.{name}: {error}") from error
    return pool


def parsed_pool(task: Task) -> DeviationPool:
    """The pool of a task's paper, of which nobody has tried yet whether its deviations can be made."""
    file = task.folder / FILE
    if not task.files.deviations:
        raise TaskError(f"{file}: there is no such file, so no forensic task of {task.paper.slug}")
    return validated(DeviationPool, parsed_table(task.files.deviations, file), file, "")


def changed(
    repository: Mapping[str, bytes], deviations: Mapping[str, Deviation], file: Path = Path(FILE)
) -> dict[str, bytes]:
    """The files that these deviations change, as they are then."""
    edits: dict[str, list[Deviation]] = {}
    for item in deviations.values():
        edits.setdefault(item.file, []).append(item)
    where = f"{file}: {', '.join(deviations)}"
    return {path: edited(decode(repository[path])[0], items, where).encode() for path, items in edits.items()}


def chosen(task: Task, pool: DeviationPool, draw: Draw) -> dict[str, Deviation]:
    """The deviations of a draw: a function of the pool, the repository, and the draw's number, seed and attempt.

    No two of them change the same line. Raises UsageError where the pool has not so many.
    """
    repository = task.files.repository
    places = {
        name: (item.file, *place_of(decode(repository[item.file])[0], item, name))
        for name, item in pool.deviation.items()
    }
    key = f"{pool_digest(task, pool)} {draw.count} {draw.seed} {draw.attempt}"
    order = sorted(pool.deviation, key=lambda name: hashlib.sha256(f"{key} {name}".encode()).digest())
    names: list[str] = []
    for name in order:
        if len(names) < draw.count and not any(_overlap(places[name], places[other]) for other in names):
            names.append(name)
    if len(names) < draw.count:
        raise UsageError(f"{task.paper.slug}: there are no {draw.count} deviations that can be made at once")
    return {name: pool.deviation[name] for name in sorted(names)}


def published(task: Task, pool: DeviationPool) -> Iterator[Draw]:
    """The published draws with their deviations."""
    for draw in pool.draws:
        yield draw.model_copy(update={"deviations": tuple(chosen(task, pool, draw))})


def pool_digest(task: Task, pool: DeviationPool) -> str:
    """SHA-256 over what a draw depends on besides its numbers: the deviations and the repository."""
    deviations = {name: item.model_dump(mode="json") for name, item in pool.deviation.items()}
    bounds = pool.model_dump(mode="json", include={"trains", "tolerance"})
    files = {"deviations": json.dumps([deviations, bounds], sort_keys=True).encode()}
    return files_digest({**files, **{f"repo/{path}": data for path, data in task.files.repository.items()}})


def asked_for(
    tasks: Sequence[Task], patterns: Iterable[str], tier: Tier = "function", fresh: int | None = None
) -> tuple[tuple[Task, ...], list[Drawn]]:
    """The listed tasks that patterns name, as `select` does, and the forensic tasks, which have to be made.

    Those are a task of the paper, how many deviations, and a seed, each. Their ids name forensic tasks in any tier; in
    their own tier other patterns name papers and categories, whose published draws are meant, or those of 1, 3, 5 and 8
    deviations of a fresh seed. Raises TaskError for a pattern that names nothing.
    """
    wanted = list(patterns)
    ids = [pattern for pattern in wanted if is_forensic(pattern)]
    others = [pattern for pattern in wanted if pattern not in ids]
    papers = {task.paper.slug: task for task in reversed(tasks)}
    found: dict[str, Drawn] = {}
    for name in ids:
        slug, _, rest = name.partition("/")
        numbers = numbers_of(rest)
        if slug not in papers or numbers is None:
            raise TaskError(f"no paper is named {slug!r}; `lmrbench list` shows them all")
        found[name] = (papers[slug], *numbers)
    if ids and not others:
        return (), list(found.values())
    if tier != "forensic":
        return select(tasks, others, tier), list(found.values())
    with_pool = [task for task in papers.values() if task.files.deviations]
    for task in select(with_pool, others) if with_pool else ():
        published = [(draw.count, draw.seed) for draw in deviation_pool(task).draws]
        for count, seed in published if fresh is None else [(count, fresh) for count in FRESH_COUNTS]:
            found[f"{task.paper.slug}/{forensic_name(count, seed)}"] = (task, count, seed)
    if not found:
        raise TaskError("there is no forensic task here: none is published, or no paper has a pool of deviations")
    return (), list(found.values())


def is_forensic(task_id: str) -> bool:
    """Whether this is the id of a forensic task, such as dpo/forensic_3_17."""
    return numbers_of(task_id.partition("/")[2]) is not None


def forensic_name(count: int, seed: int) -> str:
    """`forensic_3_17`: three deviations, seed 17."""
    return f"forensic_{count}_{seed}"


def numbers_of(name: str) -> tuple[int, int] | None:
    """How many deviations the name of a forensic task stands for, and its seed; None for another name."""
    match = _NAME.fullmatch(name)
    return (int(match[1]), int(match[2])) if match else None


def forensic_task(task: Task, pool: DeviationPool, draw: Draw, results: str = "") -> Task:
    """The task of a draw, whose golden is the changed program. task: any of the paper's; results: what was logged."""
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
        name=forensic_name(draw.count, draw.seed),
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
    """The share of a draw's deviations that stand in an answer word for word, apart from spaces and comments.

    A lower bound: what does the same in other words is not seen. answered: the goal files, as `in_one_layout` has them.
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
    """A file without comments and in one layout; nothing for what is no Python. Of a candidate, let a reader do it."""
    try:
        return ast.unparse(syntax_tree(decode(data)[0]))
    except (SyntaxError, ValueError, RecursionError):
        return ""


def _overlap(one: tuple[str, int, int], other: tuple[str, int, int]) -> bool:
    return one[0] == other[0] and one[1] < other[2] and other[1] < one[2]
