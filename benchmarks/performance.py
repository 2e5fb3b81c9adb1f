"""Compare the speed of grading with other ways of grading, and write docs/performance.md and its figure.

One system's answers to a whole suite, for which the references are used, are graded in one run on one machine by: (a) a
container and an interpreter for each task, one after another; (b) a process for each task, one after another, without
isolation; (c) `lmrbench` with bubblewrap, with Docker, and with Ray on 1, 2 and 4 nodes of this machine with one worker
each; (d) the checks alone, in one process that has imported everything. Images are built and the outputs of the
references are cached in advance. Afterwards, the command grades thousands of answers, to find out whether it slows down
or its memory grows.

    python benchmarks/performance.py [--suite DIR] [--repeats N] [--count N] [--folder DIR]

Docker needs an Engine, and LMRBENCH_BASE_IMAGE or Docker Hub; `make docker-base` provides both.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import ray
from grading import FLOOR, SEED, checked, jobs_of, measure_floor, measure_warm, place_of
from matplotlib.figure import Figure
from ray.cluster_utils import Cluster
from rich.console import Console
from throughput import STEADY_FROM, grown, growth_of, rates_of, standard_error

from lmrbench.grading.grader import Grader
from lmrbench.grading.plan import GradingPlan
from lmrbench.grading.systems import submissions_of
from lmrbench.sandbox.cluster import ClusterPool
from lmrbench.sandbox.packages import with_worker_needs
from lmrbench.sandbox.pool import LocalPool
from lmrbench.sandbox.registry import make_sandbox
from lmrbench.sandbox.variables import variables
from lmrbench.tasks.loading import default_suite, load_suite
from lmrbench.tasks.model import Task
from lmrbench.tasks.workspace import third_party_imports

NODES = (1, 2, 4)
SHOWN = (1_000, 2_000, 5_000, 10_000)
CONTAINERS, PROCESSES, FLOOR_NAME = "(a) container per task", "(b) process per task", "(d) the checks alone"


@dataclass(frozen=True)
class Way:
    """A way to grade, with its measurements.

    Attributes:
        name: The name in tables.
        at_once: The number of checks that run at the same time.
        seconds: The seconds for the whole suite in each repeat.
        first: The seconds until the first outcome in each repeat.
    """

    name: str
    at_once: int
    seconds: tuple[float, ...]
    first: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median of the seconds for the whole suite."""
        return statistics.median(self.seconds)

    def beyond(self, floor: float) -> float:
        """Return the seconds beyond those of the checks, which take `floor` seconds if they run one after another."""
        return self.median - floor / self.at_once


def containers(tasks: Sequence[Task]) -> Iterator[None]:
    """Grade each task in a new container, which is removed before the next one is started."""
    sandbox = make_sandbox("docker", ())
    for job in jobs_of(tuple(tasks), "a container"):
        worker = sandbox.start(with_worker_needs(job.imports))
        checked(worker.run(job))
        worker.close()
        yield


def processes(tasks: Sequence[Task]) -> Iterator[None]:
    """Run the check of each task in a new interpreter, which imports the packages that the task needs."""
    for job in jobs_of(tuple(tasks), "a process"):
        with tempfile.TemporaryDirectory() as folder:
            for name, data in job.files.items():
                file = Path(folder, "repo", name)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
            place = place_of(job, str(Path(folder, "repo")))
            request = json.dumps([[place], job.imports, False])
            command = [sys.executable, "-B", "-c", FLOOR]
            environment = variables((), folder)
            subprocess.run(command, input=request.encode(), env=environment, stdout=subprocess.DEVNULL, check=True)
        yield


def pooled(tasks: Sequence[Task], open_pool: Callable[[], LocalPool | ClusterPool]) -> Iterator[None]:
    """Grade as `lmrbench grade` does, including the start of the workers."""
    by_id = {task.id: task for task in tasks}
    with open_pool() as pool:
        grader = Grader(by_id, GradingPlan((SEED,)), pool)
        for _, item in grader.grade_all(list(submissions_of("golden", tasks))):
            if not item.robust:
                reasons = "; ".join(f"{case.name}: {case.reason}" for case in item.cases if case.verdict != "match")
                raise SystemExit(f"the golden of {item.task} fails: {reasons}")
            yield


@contextmanager
def nodes(count: int) -> Iterator[str]:
    """Start a Ray cluster on this machine, with `count` nodes of one processor; yield its address."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    try:
        for _ in range(count):
            cluster.add_node(num_cpus=1)
        yield cluster.address
    finally:
        ray.shutdown()
        cluster.shutdown()


def cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


def timed(name: str, at_once: int, graded: Callable[[], Iterator[None]], repeats: int) -> Way:
    """Time a way of grading `repeats` times, after a first run that fills caches and does not count."""
    seconds, first = [], []
    for repeat in range(repeats + 1):
        began = time.perf_counter()
        ends = [time.perf_counter() - began for _ in graded()]
        whole = time.perf_counter() - began
        Console(stderr=True).print(f"{name}: {whole:.1f} s{'' if repeat else ', which does not count'}")
        if repeat:
            seconds.append(whole)
            first.append(ends[0])
    return Way(name, at_once, tuple(seconds), tuple(first))


def measured(suite: Path, repeats: int) -> list[Way]:
    """Measure each way except the floor, one after another."""
    tasks = load_suite(suite)

    def local(sandbox: str) -> Callable[[], Iterator[None]]:
        return lambda: pooled(tasks, lambda: LocalPool(make_sandbox(sandbox, [suite])))

    def on_ray(address: str) -> Callable[[], Iterator[None]]:
        bubblewrap = make_sandbox("bubblewrap", [suite])
        return lambda: pooled(tasks, lambda: ClusterPool(bubblewrap, [suite], address=address))

    ways = [timed(CONTAINERS, 1, lambda: containers(tasks), repeats)]
    ways.append(timed(PROCESSES, 1, lambda: processes(tasks), repeats))
    ways += [timed(f"(c) {name}", cores(), local(name), repeats) for name in ("bubblewrap", "docker")]
    for count in NODES:
        with nodes(count) as address:
            at_once = min(count, cores())
            ways.append(timed(f"(c) Ray, {count} node{'s' * (count > 1)}", at_once, on_ray(address), repeats))
    return ways


@dataclass(frozen=True)
class Parts:
    """The parts of the time that one worker takes, and the memory of its jobs.

    Attributes:
        start: The seconds that the worker takes to start.
        imports: The seconds that the same imports take in a process without isolation.
        warm: The seconds of all checks in the worker.
        floor: The seconds of all checks in a process without isolation.
        peak_mb: The largest peak memory of a job, in megabytes.
    """

    start: float
    imports: float
    warm: float
    floor: float
    peak_mb: float


def parts_of(suite: Path, repeats: int) -> Parts:
    """Measure a worker under bubblewrap and a process without isolation. Seconds are medians over the repeats."""
    tasks = load_suite(suite)
    imports = sorted({name for task in tasks for name in third_party_imports(task)})
    warms = [measure_warm(tasks, "bubblewrap", imports) for _ in range(repeats)]
    floors = [measure_floor(tasks, imports) for _ in range(repeats)]
    return Parts(
        statistics.median(start for start, _, _ in warms),
        statistics.median(start for start, _ in floors),
        statistics.median(sum(seconds) for _, seconds, _ in warms),
        statistics.median(sum(seconds) for _, seconds in floors),
        max(max(peaks) for _, _, peaks in warms),
    )


def machine() -> str:
    """Describe this machine: its processors, memory, kernel and Python."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{cores()} cores ({model}), {memory:.0f} GiB, Linux {platform.release()}, Python {platform.python_version()}"
    )


def page(
    ways: Sequence[Way], parts: Parts, points: list[tuple[float, int, float]], distinct: int, tasks: Sequence[Task]
) -> str:
    """Return docs/performance.md."""
    count = len(tasks)
    bubblewrap = next(way for way in ways if way.name == "(c) bubblewrap")
    ours, beyond = bubblewrap.median, bubblewrap.beyond(parts.floor)
    rows = [
        f"| {way.name} | {way.median:.1f} | {min(way.seconds):.1f} to {max(way.seconds):.1f} "
        f"| {way.median / count:.2f} | {statistics.median(way.first):.1f} | {way.median / ours:.1f} "
        f"| {way.beyond(parts.floor):.1f} |"
        for way in ways
    ]
    rows.append(f"| {FLOOR_NAME} | {parts.floor:.1f} | | {parts.floor / count:.2f} | | {parts.floor / ours:.1f} | |")
    rates = rates_of(points)
    reached = [next(point for point in points if point[1] >= seen) for seen in SHOWN if seen <= points[-1][1]]
    windows = reached or points[-1:]
    grades = [f"| {seen:,} | {seconds:,.0f} | {seen / seconds:.1f} | {mb:.0f} |" for seconds, seen, mb in windows]
    seconds, answers, _ = points[-1]
    growth = growth_of(points)
    grown_by = "" if growth is None else f" From the {STEADY_FROM:,}th grade on, memory grows by {growth:.1%} at most."
    share = parts.start / (parts.start + parts.warm)
    return PAGE.format(
        machine=machine(),
        tasks=count,
        sets=len({with_worker_needs(third_party_imports(task)) for task in tasks}),
        repeats=len(ways[0].seconds),
        rows="\n".join(rows),
        over_containers=ways[0].median / ours,
        over_processes=ways[1].median / ours,
        at_once=bubblewrap.at_once,
        alone=parts.floor / bubblewrap.at_once,
        most_containers=ways[0].median * bubblewrap.at_once / parts.floor,
        most_processes=ways[1].median * bubblewrap.at_once / parts.floor,
        beyond_containers=ways[0].beyond(parts.floor) / beyond,
        beyond_processes=ways[1].beyond(parts.floor) / beyond,
        start=parts.start,
        imports=parts.imports,
        warm=parts.warm,
        floor=parts.floor,
        beside=(parts.warm - parts.floor) / count,
        checks=parts.floor / (parts.start + parts.warm),
        share=share,
        peak=parts.peak_mb,
        count=answers,
        distinct=distinct,
        grades="\n".join(grades),
        rate=answers / seconds,
        error=standard_error(rates),
        grown=grown_by,
    )


PAGE = """# Performance

This page compares the time that lmrbench takes to grade with the time that other methods take for the same answers, and
shows what limits lmrbench's speed. The page and its plot were written by `python benchmarks/performance.py`, in one
run. Times differ between machines, while ratios carry over.

The machine: {machine}.

## One system's answers to the whole suite

Four methods of grading are compared:

- (a) one container per task;
- (b) one process per task, without isolation;
- (c) lmrbench, with bubblewrap, with Docker, and with Ray on 1, 2 and 4 nodes;
- (d) the checks alone, in one process that has imported everything, without isolation.

The references of {tasks} tasks serve as answers. Times are medians of {repeats} repeats, after a first run that does
not count, in which images are built and the outputs of the references are cached. The times of (c) include the start of
workers and the comparison of results; (a), (b) and (d) only run the checks. (a) and (b) run one task after another,
like harnesses that give each task a container or a process. A process shuts down torch before it ends, whereas a
container is killed, so (b) can be slower than (a). In this benchmark, each Ray node has one worker, however many cores
there are. The last column is the overhead: the total time of the row, minus the time that the checks alone would take,
which is the time of (d) divided by the number of checks that run at once.

| method | seconds | range | per task | until the first outcome | relative to bubblewrap | overhead |
|---|--:|--:|--:|--:|--:|--:|
{rows}

![Seconds of each method](pictures/performance.svg)

Grading under bubblewrap is {over_containers:.1f} times as fast as with a container per task, and {over_processes:.1f}
times as fast as with a process per task, which isolates nothing. Most of the remaining time is that of the checks
themselves: {at_once} workers that did nothing else would take {alone:.1f} s, so no harness could be more than
{most_containers:.1f} times as fast as (a) and {most_processes:.1f} times as fast as (b) on this machine. The overhead
of a container per task is {beyond_containers:.0f} times that of bubblewrap, and the overhead of a process per task
{beyond_processes:.0f} times.

## Limiting factors

- **The checks.** All checks take {warm:.1f} s in one worker, and {floor:.1f} s in a process without any isolation, so
  isolation costs {beside:.3f} s per task. When a worker grades one system, {checks:.0%} of its time, including its
  start, is spent on checks.
- **The start of a template** takes {start:.1f} s. Without isolation, starting an interpreter, importing the same
  packages and creating an optimizer takes {imports:.1f} s. A command starts a template for each of the {sets} sets of
  packages that its tasks import, and forks the workers of all systems from it, so another system costs only
  milliseconds. If a single worker with access to all packages grades a system's answers to the whole suite, it spends
  {share:.0%} of its time starting. Each Ray node has templates of its own. Under Docker, each worker imports its
  packages itself.
- **Memory**: the process of a job takes at most {peak:.0f} MB, including the memory that it shares with its worker.

## Many answers

One command graded {count:,} answers ({distinct:,} of them distinct) of 100 systems under bubblewrap, with
`--fail-fast`, which stops the grading of an answer at its first failed case. The answers were references, masks,
rewrites, wrong versions and mutants. The command graded {rate:.2f} answers per second, with a standard error of
{error:.2f} over windows of 100.{grown}

| grades | seconds | grades per second until then | memory of the command (MB) |
|--:|--:|--:|--:|
{grades}
"""


def draw(ways: Sequence[Way], floor: float, file: Path) -> None:
    """Draw a bar chart of the seconds of each way, and of the checks alone, to a file."""
    figure = Figure(figsize=(7, 0.6 + 0.4 * (len(ways) + 1)), layout="constrained")
    axes = figure.subplots()
    names, seconds = [*(way.name for way in ways), FLOOR_NAME], [*(way.median for way in ways), floor]
    bars = axes.barh(range(len(names)), seconds, color="C0")
    axes.bar_label(bars, fmt="%.1f", padding=3)
    axes.set(yticks=range(len(names)), yticklabels=names, xlabel="seconds for one system's answers to the whole suite")
    axes.margins(x=0.1)
    axes.invert_yaxis()
    figure.savefig(file, metadata={"Date": None})


def main() -> None:
    """Measure, and write the page and the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=Path, default=default_suite())
    parser.add_argument("--repeats", type=int, default=3, help="number of repeats, of which the median is shown")
    parser.add_argument("--count", type=int, default=10_000, help="number of answers that one command grades")
    parser.add_argument("--folder", type=Path, default=Path(__file__).parents[1] / "docs")
    arguments = parser.parse_args()
    ways = measured(arguments.suite, arguments.repeats)
    parts = parts_of(arguments.suite, arguments.repeats)
    points, distinct = grown(arguments.suite, "bubblewrap", arguments.count)
    tasks = load_suite(arguments.suite)
    (arguments.folder / "pictures").mkdir(parents=True, exist_ok=True)
    draw(ways, parts.floor, arguments.folder / "pictures" / "performance.svg")
    (arguments.folder / "performance.md").write_text(page(ways, parts, points, distinct, tasks))


if __name__ == "__main__":
    main()
