"""Forensic tasks: fair draws of deviations, and what the changed programs log.

A draw is fair if the changed program runs and still trains, and if only the whole draw explains its logs: each
deviation alone changes them well above the tolerance, and no part of the draw, no single deviation, and no draw with
one deviation exchanged for another of the pool gives the same logs. All programs run in a sandbox.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

from pydantic import ValidationError

from lmrbench.errors import TaskError
from lmrbench.files import PRIVATE, cache_folder, read_plain, write_whole
from lmrbench.grading.compare import compare, margin
from lmrbench.grading.draw import drawn_cases, reference_job
from lmrbench.grading.observe import reference_outputs
from lmrbench.grading.signatures import signed, verified
from lmrbench.records import Record
from lmrbench.sandbox.inside.encoding import decode
from lmrbench.sandbox.protocol import WorkerPool
from lmrbench.tasks.model import Draw, Task, Tolerance
from lmrbench.tasks.tiers.forensic import (
    DeviationPool,
    changed,
    chosen,
    deviation_pool,
    forensic_name,
    forensic_task,
    pool_digest,
)
from lmrbench.tasks.tiers.logged import EXPERIMENT, PUBLISHED_SEEDS, published_check
from lmrbench.tasks.workspace import third_party_imports

# Logs differ if they are this many tolerances apart.
WELL_ABOVE = 100
MOST_ATTEMPTS = 100
# The largest share of the tolerance of a forensic task that two threads may take.
MOST_OF_TOLERANCE = 0.1

Advance = Callable[[str, int, int], None]
Metrics = Mapping[str, float]


def forged(task: Task, count: int, seed: int, workers: WorkerPool, advance: Advance = lambda *_: None) -> Task:
    """Make a forensic task of a paper, with the published draw or the first fair one.

    Args:
        task: any task of the paper.
        count: the number of deviations.
        seed: the seed of the draw.
        workers: the workers that run the programs.
        advance: called with a stage's name, the number of finished runs, and the number of all.

    Raises:
        TaskError: no draw is fair.
    """
    pool = deviation_pool(task)
    published = next((draw for draw in pool.draws if (draw.count, draw.seed) == (count, seed)), None)
    known = published or fair_draw(task, pool, count, seed, workers, advance)
    draw = known.model_copy(update={"deviations": tuple(chosen(task, pool, known))})
    return forensic_task(task, pool, draw, logged_results(forensic_task(task, pool, draw), workers))


def logged_results(task: Task, workers: WorkerPool) -> str:
    """Return what the reference's experiment logs under the published seeds, as JSON: metrics by seed."""
    check = published_check(third_party_imports(task))
    logging = task.model_copy(update={"files": replace(task.files, check=check)})
    outputs = reference_outputs([logging], [0], workers)[task.id, 0]
    values = (decode(item)[EXPERIMENT] for item in outputs.observations)
    return json.dumps(dict(zip(map(str, PUBLISHED_SEEDS), values, strict=True)), indent=1) + "\n"


def fair_draw(
    task: Task,
    pool: DeviationPool,
    count: int,
    seed: int,
    workers: WorkerPool,
    advance: Advance = lambda *_: None,
    refused: Callable[[Draw, str], None] = lambda draw, why: None,
) -> Draw:
    """Return the first fair draw, from the cache or by trying.

    Args:
        task: any task of the paper.
        pool: the paper's deviations.
        count: the number of deviations.
        seed: the seed of the draw.
        workers: the workers that run the programs.
        advance: see `forged`.
        refused: called with each unfair draw and the reason.

    Raises:
        TaskError: none of `MOST_ATTEMPTS` draws is fair.
    """
    return _fair_draw(_Laboratory(task, pool, workers, advance), count, seed, refused)


def _fair_draw(laboratory: _Laboratory, count: int, seed: int, refused: Callable[[Draw, str], None]) -> Draw:
    task, pool = laboratory.task, laboratory.pool
    file = cache_folder() / "draws" / f"{pool_digest(task, pool)[:32]}-{count}-{seed}.json"
    if (kept := _kept(file)) is not None:
        return kept
    for attempt in range(MOST_ATTEMPTS):
        draw = Draw(count=count, seed=seed, attempt=attempt)
        names = frozenset(chosen(task, pool, draw))
        draw = draw.model_copy(update={"deviations": tuple(sorted(names))})
        if (why := laboratory.unfair(names)) is None:
            found = draw.model_copy(update={"separable": laboratory.separable(names)})
            write_whole(file, signed(found.model_dump_json()), PRIVATE)
            return found
        refused(draw, why)
    raise TaskError(
        f"{task.paper.slug}/{forensic_name(count, seed)}: none of {MOST_ATTEMPTS} draws is fair; the last: {why}"
    )


class AuditedDraw(Record):
    """The audit of one draw.

    Attributes:
        task: name of the forensic task.
        draw: the draw.
        unfair: why the draw is not fair; empty if it is.
        margin: the share of the tolerance that two threads instead of one use up; None if it is exceeded.
    """

    task: str
    draw: Draw
    unfair: str
    margin: float | None

    @property
    def falls_short(self) -> bool:
        """Whether the draw is unfair, or two threads take too much of the tolerance."""
        return bool(self.unfair) or self.margin is None or self.margin > MOST_OF_TOLERANCE


def audited_draws(
    task: Task, draws: Sequence[tuple[int, int]], workers: WorkerPool, advance: Advance = lambda *_: None
) -> Iterator[AuditedDraw]:
    """Audit draws of a paper: the published draw if there is one, and the first fair draw otherwise.

    Args:
        task: any task of the paper.
        draws: number of deviations and seed of each draw.
        workers: the workers that run the programs.
        advance: see `forged`.

    Raises:
        TaskError: for some number and seed no draw is fair.
    """
    pool = deviation_pool(task)
    laboratory = _Laboratory(task, pool, workers, advance)
    published = {(draw.count, draw.seed): draw for draw in pool.draws}
    for count, seed in draws:
        known = published.get((count, seed)) or _fair_draw(laboratory, count, seed, lambda draw, why: None)
        names = frozenset(chosen(task, pool, known))
        unfair = laboratory.unfair(names) or ""
        separable = None if unfair else laboratory.separable(names)
        draw = known.model_copy(update={"deviations": tuple(sorted(names)), "separable": separable})
        name = f"{task.paper.slug}/{forensic_name(count, seed)}"
        yield AuditedDraw(task=name, draw=draw, unfair=unfair, margin=laboratory.margin_of_threads(names))


class Effect(Record):
    """The effect of one deviation of a pool alone.

    Attributes:
        name: name of the deviation.
        file: the file that it changes.
        why: why someone might write it.
        moved: number of metrics that it changes.
        metrics: number of all metrics.
        fault: why it can't be used: it does not run or train, changes no metric, or gives the same logs as another;
            empty if it can be used.
    """

    name: str
    file: str
    why: str
    moved: int
    metrics: int
    fault: str


def effects(task: Task, workers: WorkerPool, advance: Advance = lambda *_: None) -> list[Effect]:
    """Run each deviation of a paper's pool alone, given any task of the paper."""
    pool = deviation_pool(task)
    return _Laboratory(task, pool, workers, advance).effects()


@dataclass
class _Laboratory:
    """Runs each changed program of one paper once, under the first published seed."""

    task: Task
    pool: DeviationPool
    workers: WorkerPool
    advance: Advance
    _logs: dict[frozenset[str], Metrics | None] = field(default_factory=dict)

    def effects(self) -> list[Effect]:
        """Return the effect of each deviation alone."""
        faithful, found = frozenset[str](), []
        alone = {name: frozenset({name}) for name in self.pool.deviation}
        self._run("single deviations", [faithful, *alone.values()])
        before = self._logs[faithful]
        if before is None:
            raise TaskError(f"{self.task.paper.slug}: the experiment does not run")
        for name, item in self.pool.deviation.items():
            logs = self._logs[alone[name]]
            twin = next((other for other in alone if other != name and self._same(alone[name], alone[other])), "")
            moved = [key for key in before if logs and not self._near(logs.get(key), before[key], WELL_ABOVE)]
            fault = ""
            if logs is None:
                fault = "does not run"
            elif not moved:
                fault = "moves no metric"
            elif twin:
                fault = f"gives the same logs as {twin}"
            fault = fault or self._not_training(logs or {}) or ""
            found.append(
                Effect(name=name, file=item.file, why=item.why, moved=len(moved), metrics=len(before), fault=fault)
            )
        return found

    def unfair(self, draw: frozenset[str]) -> str | None:
        """Return why a draw is not fair; None if it is."""
        name = ", ".join(sorted(draw))
        self._run("the changed program", [draw, frozenset()])
        whole = self._logs[draw]
        if whole is None:
            return f"{name}: the changed program does not run"
        if said := self._not_training(whole):
            return f"{name}: {said}"
        singles = [frozenset({item}) for item in sorted(self.pool.deviation)]
        without = [draw - {item} for item in sorted(draw)]
        self._run("single deviations", [*singles, *without])
        for item in sorted(draw):
            if self._same(frozenset({item}), frozenset()):
                return f"{item} alone changes no metric"
        parts = [frozenset(part) for size in range(len(draw)) for part in combinations(sorted(draw), size)]
        others = [
            draw - {item} | {other}
            for item in sorted(draw)
            for other in sorted(self.pool.deviation.keys() - draw)
            if self._fit(draw - {item} | {other})
        ]
        for stage, rivals in (("single", singles + without), ("parts", parts), ("exchanges", others)):
            self._run(stage, rivals)
            for rival in rivals:
                if rival != draw and self._same(rival, draw):
                    return f"{', '.join(sorted(rival)) or 'the faithful program'} gives the same logs as {name}"
        return None

    def margin_of_threads(self, draw: frozenset[str]) -> float | None:
        """Return the share of the tolerance that two threads instead of one use up; None if it is exceeded."""
        one, two = self._logs[draw], self._observed("two threads", [draw], threads=2)[0]
        return None if one is None or two is None else margin(one, two, self.pool.tolerance)

    def separable(self, draw: frozenset[str]) -> float:
        """Return the share of a draw's deviations that each give some metric its value under the whole draw."""
        whole, faithful = self._logs[draw], self._logs[frozenset()]
        assert whole is not None
        assert faithful is not None
        found = 0
        for item in draw:
            alone = self._logs[frozenset({item})] or {}
            found += any(
                self._near(alone.get(key), whole[key], 1) and not self._near(faithful.get(key), whole[key], WELL_ABOVE)
                for key in whole
            )
        return found / len(draw)

    def _fit(self, names: frozenset[str]) -> bool:
        try:
            changed(self.task.files.repository, {name: self.pool.deviation[name] for name in names})
        except TaskError:
            return False
        return True

    def _not_training(self, metrics: Metrics) -> str | None:
        for key, value in _flat(metrics):
            if isinstance(value, float) and not math.isfinite(value):
                return f"{key} is {value}"
        for key, (least, most) in self.pool.trains.items():
            if key not in metrics:
                raise TaskError(f"{self.task.folder}: deviations.toml: trains: the experiment returns no {key!r}")
            if not least <= metrics[key] <= most:
                return f"does not train: {key} is {metrics[key]:.4g}, not between {least} and {most}"
        return None

    def _same(self, one: frozenset[str], other: frozenset[str]) -> bool:
        first, second = self._logs[one], self._logs[other]
        return first is not None and second is not None and self._near(first, second, WELL_ABOVE)

    def _near(self, one: object, other: object, factor: float) -> bool:
        near = self.pool.tolerance
        return compare(other, one, Tolerance.model_construct(rtol=factor * near.rtol, atol=factor * near.atol)) is None

    def _run(self, stage: str, sets: Iterable[frozenset[str]]) -> None:
        todo = [names for names in dict.fromkeys(sets) if names not in self._logs]
        if not todo:
            return
        self._logs.update(zip(todo, self._observed(stage, todo), strict=True))

    def _observed(self, stage: str, sets: Sequence[frozenset[str]], threads: int = 1) -> list[Metrics | None]:
        repository = self.task.files.repository
        check = published_check(third_party_imports(self.task), PUBLISHED_SEEDS[:1], threads)
        logging = self.task.model_copy(update={"files": replace(self.task.files, check=check)})
        cases = drawn_cases([(logging, 0)], self.workers)[logging.id, 0]
        jobs = [
            replace(
                reference_job(logging, 0, cases),
                owner="forging",
                files={**repository, **changed(repository, {name: self.pool.deviation[name] for name in names})},
            )
            for names in sets
        ]
        found: list[Metrics | None] = [None] * len(jobs)
        self.advance(stage, 0, len(jobs))
        for done, (number, outcome) in enumerate(self.workers.run(jobs), start=1):
            if outcome.cases and outcome.cases[0].status == "observed":
                found[number] = decode(outcome.cases[0].payload)[EXPERIMENT]
            self.advance(stage, done, len(jobs))
        return found


def _flat(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    items: Iterable[tuple[object, object]]
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        yield path, value
        return
    for key, item in items:
        yield from _flat(item, f"{path}.{key}".lstrip("."))


def _kept(file: Path) -> Draw | None:
    try:
        data = verified(read_plain(file))
        return None if data is None else Draw.model_validate_json(data)
    except (FileNotFoundError, ValidationError):
        return None
