"""Make forensic tasks: find fair draws of deviations, and record the logs of the changed programs.

In a forensic task, a solver gets the logs of a changed program and must find the changes. A paper's pool contains
deviations, which are plausible changes of its repository; a draw picks some of them. A draw is fair if the changed
program runs and still trains (its metrics are within bounds that the pool sets), and if a search over the pool finds
its deviations within `MOST_RUNS` runs and finds no other explanation of the logs.

The search goes through the stages of the experiment in order. At each stage it tries all sets of the deviations that
first change metrics there, smaller sets first, until the metrics agree up to this stage. All programs run in a sandbox.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import combinations
from pathlib import Path

from pydantic import ValidationError

from lmrbench.errors import TaskError
from lmrbench.files import PRIVATE, cache_folder, read_plain, write_whole
from lmrbench.grading.compare import compare, margin
from lmrbench.grading.experiments import Metrics, decisive, flat, logs_of
from lmrbench.grading.observe import reference_outputs
from lmrbench.grading.signatures import signed, verified
from lmrbench.progress import Advance
from lmrbench.records import Record, grouped
from lmrbench.sandbox.inside.encoding import decode
from lmrbench.sandbox.protocol import WorkerPool
from lmrbench.tasks.bounds import Bounds
from lmrbench.tasks.model import Draw, DrawId, Task
from lmrbench.tasks.tiers.forensic import (
    DeviationPool,
    Drawn,
    changed,
    chosen,
    deviation_pool,
    forensic_task,
    pool_digest,
)
from lmrbench.tasks.tiers.logged import EXPERIMENT, PUBLISHED_SEEDS, RESULTS, published_check
from lmrbench.tasks.workspace import third_party_imports

# Two values of a metric count as different if they are more than this many tolerances apart.
WELL_ABOVE = 100
MOST_ATTEMPTS = 100
# The largest number of runs that the search for the deviations of a fair draw may take.
MOST_RUNS = 1000
# The largest accepted difference between a draw's logs with one and with two threads, as a share of the tolerance.
MOST_OF_TOLERANCE = 0.1


def forged(task: Task, wanted: DrawId, workers: WorkerPool, advance: Advance = lambda *_: None) -> Task:
    """Make the forensic task with the given draw id, from the published draw, or else from the first fair draw.

    Args:
        task: Any task of the paper.
        wanted: The id of the draw: the number of deviations, a seed, and whether several deviations share a stage.
        workers: The workers that run the programs.
        advance: Called with the name of the current step, the number of finished runs, and the total number of runs.

    Raises:
        TaskError: No fair draw was found.
    """
    pool = deviation_pool(task)
    published = next((draw for draw in pool.draws if draw.id == wanted), None)
    known = published or fair_draw(task, pool, wanted, workers, advance)
    draw = known.model_copy(update={"deviations": tuple(chosen(task, pool, known))})
    return forensic_task(task, pool, draw, logged_results(forensic_task(task, pool, draw), workers))


def logged_results(task: Task, workers: WorkerPool) -> str:
    """Run the reference's experiment with the published seeds, and return the logged metrics as JSON, by seed."""
    check = published_check(third_party_imports(task))
    logging = task.model_copy(update={"files": replace(task.files, check=check)})
    outputs = reference_outputs([logging], [0], workers)[task.id, 0]
    values = (decode(item)[EXPERIMENT] for item in outputs.observations)
    return json.dumps(dict(zip(map(str, PUBLISHED_SEEDS), values, strict=True)), indent=1) + "\n"


def write_results(task: Task, workers: WorkerPool) -> Path:
    """Write the logged results of a task's reference to results.json in the paper's folder, and return the file."""
    file = task.folder / RESULTS
    write_whole(file, logged_results(task, workers).encode())
    return file


def fair_draw(
    task: Task,
    pool: DeviationPool,
    wanted: DrawId,
    workers: WorkerPool,
    advance: Advance = lambda *_: None,
    refused: Callable[[Draw, str], None] = lambda draw, why: None,
) -> Draw:
    """Return the first fair draw with the given id, from the cache or by trying draws one after the other.

    Args:
        task: Any task of the paper.
        pool: The paper's deviations.
        wanted: The id of the draw.
        workers: The workers that run the programs.
        advance: See `forged`.
        refused: Called with each unfair draw and the reason.

    Raises:
        TaskError: None of `MOST_ATTEMPTS` draws is fair.
    """
    return _fair_draw(_Laboratory(task, pool, workers, advance), wanted, refused)


def _fair_draw(laboratory: _Laboratory, wanted: DrawId, refused: Callable[[Draw, str], None]) -> Draw:
    task, pool = laboratory.task, laboratory.pool
    file = cache_folder() / "draws" / f"{pool_digest(task, pool)[:32]}-{wanted}.json"
    if (kept := _kept(file)) is not None:
        return kept
    for attempt in range(MOST_ATTEMPTS):
        draw = Draw(**asdict(wanted), attempt=attempt)
        names = frozenset(chosen(task, pool, draw))
        draw = draw.model_copy(update={"deviations": tuple(sorted(names))})
        search = laboratory.search(names)
        if not search.unfair:
            found = draw.model_copy(update={"witness": search.runs})
            write_whole(file, signed(found.model_dump_json()), PRIVATE)
            return found
        refused(draw, search.unfair)
    raise TaskError(f"{task.paper.slug}/{wanted}: none of {MOST_ATTEMPTS} draws is fair; last reason: {search.unfair}")


class AuditedDraw(Record):
    """The result of auditing one draw.

    Attributes:
        task: Id of the forensic task.
        draw: The draw.
        sharing: The number of deviations that share their stage with another deviation of the draw.
        unfair: Why the draw is not fair; empty if it is.
        margin: The largest difference between the logs with one and with two threads, divided by the tolerance; None if
            the logs can't be compared.
    """

    task: str
    draw: Draw
    sharing: int
    unfair: str
    margin: float | None

    @property
    def falls_short(self) -> bool:
        """Whether the draw is unfair, or its logs depend too much on the number of threads."""
        return bool(self.unfair) or self.margin is None or self.margin > MOST_OF_TOLERANCE


def audited_draws(
    draws: Iterable[Drawn], workers: WorkerPool, advance: Advance = lambda *_: None
) -> Iterator[AuditedDraw]:
    """Audit draws of papers: for each id, the published draw if there is one, or else the first fair draw.

    Args:
        draws: Pairs of any task of a paper and the id of a draw. Draws are audited paper by paper.
        workers: See `forged`.
        advance: See `forged`.

    Raises:
        TaskError: No fair draw was found for one of the ids.
    """
    for of_paper in grouped(draws, lambda item: item[0].id).values():
        task = of_paper[0][0]
        pool = deviation_pool(task)
        laboratory = _Laboratory(task, pool, workers, advance)
        published = {draw.id: draw for draw in pool.draws}
        for _, wanted in of_paper:
            known = published.get(wanted) or _fair_draw(laboratory, wanted, lambda draw, why: None)
            names = frozenset(chosen(task, pool, known))
            search = laboratory.search(names)
            draw = known.model_copy(update={"deviations": tuple(sorted(names)), "witness": search.runs})
            yield AuditedDraw(
                task=f"{task.paper.slug}/{wanted}",
                draw=draw,
                sharing=laboratory.sharing(names),
                unfair=search.unfair,
                margin=laboratory.margin_of_threads(names),
            )


class Effect(Record):
    """The effect of a single deviation of a pool.

    Attributes:
        name: Name of the deviation.
        file: The file that it changes.
        why: How the changed program deviates from the paper.
        stage: The first stage in which it changes a metric; empty if there is none.
        moved: The metrics that it changes, as stage/metric.
        metrics: The total number of metrics.
        fault: Why the deviation can't be used; empty if it can. Possible faults: the program does not run or train, no
            metric changes, the first affected stage is not the one that the pool states, or another deviation gives the
            same logs.
    """

    name: str
    file: str
    why: str
    stage: str
    moved: tuple[str, ...]
    metrics: int
    fault: str


def effects(task: Task, workers: WorkerPool, advance: Advance = lambda *_: None) -> list[Effect]:
    """Return the effect of each single deviation in the pool of a task's paper."""
    pool = deviation_pool(task)
    return _Laboratory(task, pool, workers, advance).effects()


@dataclass(frozen=True)
class _Search:
    """The result of the search for the deviations of a draw.

    Attributes:
        runs: The number of runs that the search took.
        unfair: Why the draw is not fair; empty if it is.
    """

    runs: int
    unfair: str = ""


@dataclass
class _Laboratory:
    """Runs changed programs of one paper with the first published seed, each only once, and keeps their logs."""

    task: Task
    pool: DeviationPool
    workers: WorkerPool
    advance: Advance
    _logs: dict[frozenset[str], Metrics | None] = field(default_factory=dict)

    def effects(self) -> list[Effect]:
        """Return the effect of each single deviation."""
        alone = {name: frozenset({name}) for name in self.pool.deviation}
        self._run("single deviations", [frozenset(), *alone.values()])
        before = self._faithful()
        found = []
        for name, item in self.pool.deviation.items():
            logs = self._logs[alone[name]]
            moved = self._moved(before, logs) if logs else []
            stage = moved[0][0] if moved else ""
            twin = next((other for other in alone if other != name and self._same(alone[name], alone[other])), "")
            fault = ""
            if logs is None:
                fault = "does not run"
            elif not moved:
                fault = "changes no metric"
            elif twin:
                fault = f"gives the same logs as {twin}"
            elif stage != item.stage:
                fault = f"first affects the stage {stage!r}, not {item.stage!r}"
            fault = fault or self._not_training(logs or {}) or ""
            found.append(
                Effect(
                    name=name,
                    file=item.file,
                    why=item.why,
                    stage=stage,
                    moved=tuple(f"{stage}/{key}" for stage, key in moved),
                    metrics=sum(map(len, decisive(before).values())),
                    fault=fault,
                )
            )
        return found

    def search(self, draw: frozenset[str]) -> _Search:
        """Search for the deviations of a draw, and for other explanations of its logs."""
        name = ", ".join(sorted(draw))
        at = {
            stage: sorted(self._of_stage(self.pool.deviation, stage))
            for stage in {self.pool.deviation[item].stage for item in draw}
        }
        sizes = {stage: len(draw.intersection(names)) for stage, names in at.items()}
        most = sum(math.comb(len(at[stage]), size) for stage in at for size in range(sizes[stage] + 1))
        if most > MOST_RUNS:
            return _Search(0, f"{name}: the search may take {most:,} runs, more than {MOST_RUNS:,}")
        self._run("the changed program", [draw, frozenset()])
        whole = self._logs[draw]
        if whole is None:
            return _Search(0, f"{name}: the changed program does not run")
        if said := self._not_training(whole):
            return _Search(0, f"{name}: {said}")
        found, runs, seen = frozenset[str](), 0, dict[str, Mapping[str, float]]()
        for stage, metrics in decisive(whole).items():
            seen[stage] = metrics
            wanted = found | self._of_stage(draw, stage)
            tried = [
                found.union(added)
                for size in range(len(wanted - found) + 1)
                for added in combinations(at.get(stage, ()), size)
                if self._fit(found.union(added))
            ]
            self._run(stage, tried)
            if not self._agree(wanted, seen, 1):
                return _Search(runs, f"{name}: a deviation of a later stage already affects the stage {stage!r}")
            rival = next((names for names in tried if names != wanted and self._agree(names, seen, WELL_ABOVE)), None)
            if rival is not None:
                same = ", ".join(sorted(rival)) or "the unchanged program"
                return _Search(
                    runs, f"{same} gives the same logs as {', '.join(sorted(wanted))} up to the stage {stage!r}"
                )
            runs += tried.index(wanted) + (runs == 0)
            found = wanted
        if found != draw:
            return _Search(runs, f"{', '.join(sorted(draw - found))}: the experiment has no stage for this deviation")
        return _Search(runs)

    def sharing(self, draw: frozenset[str]) -> int:
        """Return the number of deviations that share their stage with another deviation of the draw."""
        stages = Counter(self.pool.deviation[name].stage for name in draw)
        return sum(number for number in stages.values() if number > 1)

    def margin_of_threads(self, draw: frozenset[str]) -> float | None:
        """Return the margin between logs with one and two threads; None if a run fails or no margin is defined."""
        self._run("one thread", [draw])
        one, two = self._logs[draw], self._observed("two threads", [draw], threads=2)[0]
        return None if one is None or two is None else margin(decisive(one), decisive(two), Bounds(self.pool.tolerance))

    def _fit(self, names: frozenset[str]) -> bool:
        try:
            changed(self.task.files.repository, {name: self.pool.deviation[name] for name in names})
        except TaskError:
            return False
        return True

    def _not_training(self, metrics: Metrics) -> str | None:
        values = dict(flat(metrics))
        for key, value in values.items():
            if isinstance(value, float) and not math.isfinite(value):
                return f"{key} is {value}"
        for key, (least, most) in self.pool.trains.items():
            if key not in values:
                raise TaskError(f"{self.task.folder}: deviations.toml: trains: the experiment returns no {key!r}")
            if not least <= values[key] <= most:
                return f"does not train: {key} is {values[key]:.4g}, not between {least} and {most}"
        return None

    def _faithful(self) -> Metrics:
        faithful = self._logs[frozenset()]
        if faithful is None:
            raise TaskError(f"{self.task.paper.slug}: the experiment does not run, or does not return metrics by stage")
        return faithful

    def _of_stage(self, names: Iterable[str], stage: str) -> frozenset[str]:
        return frozenset(name for name in names if self.pool.deviation[name].stage == stage)

    def _moved(self, before: Metrics, after: Metrics) -> list[tuple[str, str]]:
        """Return the stages and names of the metrics that differ by more than `WELL_ABOVE` tolerances."""
        return [
            (stage, name)
            for stage, metrics in decisive(before).items()
            for name, value in metrics.items()
            if not self._near(after.get(stage, {}).get(name), value, WELL_ABOVE)
        ]

    def _same(self, one: frozenset[str], other: frozenset[str]) -> bool:
        logs = self._logs[one]
        return logs is not None and self._agree(other, decisive(logs), WELL_ABOVE)

    def _agree(self, names: frozenset[str], wanted: Metrics, factor: float) -> bool:
        """Return whether a program with these deviations logs the wanted metrics, within `factor` tolerances."""
        logs = self._logs[names]
        return logs is not None and self._near({stage: logs.get(stage) for stage in wanted}, wanted, factor)

    def _near(self, one: object, other: object, factor: float) -> bool:
        return compare(other, one, Bounds(self.pool.tolerance.scaled(factor))) is None

    def _run(self, stage: str, sets: Iterable[frozenset[str]]) -> None:
        todo = [names for names in dict.fromkeys(sets) if names not in self._logs]
        if not todo:
            return
        self._logs.update(zip(todo, self._observed(stage, todo), strict=True))

    def _observed(self, stage: str, sets: Sequence[frozenset[str]], threads: int = 1) -> list[Metrics | None]:
        repository = self.task.files.repository
        programs = [
            {**repository, **changed(repository, {name: self.pool.deviation[name] for name in names})} for names in sets
        ]
        return logs_of(self.task, programs, self.workers, partial(self.advance, stage), threads=threads)


def _kept(file: Path) -> Draw | None:
    try:
        data = verified(read_plain(file))
        return None if data is None else Draw.model_validate_json(data)
    except (FileNotFoundError, ValidationError):
        return None
