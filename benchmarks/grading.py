"""Measure the cost of isolation: cold workers, warm workers and no isolation, on the same tasks in one run.

(a) cold: a fresh sandboxed worker for each task; (b) warm: one sandboxed worker for all tasks, not counting its start;
(c) floor: the same checks in one process that has imported everything, without isolation. All three include the time
of the checks, so the cost of isolation is the difference of (a) or (b) from (c). Afterwards, the same tasks are graded
for 1, 4 and 16 systems at once, and `lmrbench grade --golden` is run as by a user: first with an empty cache, when each
check runs once for the reference and once for the answer, and again when the outputs of the references are cached.

    python benchmarks/grading.py [--suite DIR] [--sandbox NAME] [--repeats N]
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from lmrbench.grading.draw import drawn_cases, reference_job
from lmrbench.sandbox.pool import LocalPool
from lmrbench.sandbox.protocol import Cases, Job, Outcome
from lmrbench.sandbox.registry import make_sandbox
from lmrbench.sandbox.variables import variables
from lmrbench.tasks.loading import default_suite, load_suite
from lmrbench.tasks.model import Task
from lmrbench.tasks.workspace import third_party_imports

SEED = 0
MOST_FLOORS = 1.5

# Runs and times each check over its repository in one process, as the process of a candidate in a sandbox would. The
# program exits if a check raises. With `optimizer`, it first creates an optimizer, because that imports about as much
# as torch itself.
FLOOR = """
import base64, importlib, json, sys, tempfile, time
from pathlib import Path
from lmrbench.sandbox.inside.case_runner import enter, run_cases
from lmrbench.sandbox.inside.cases import restore_cases
from lmrbench.sandbox.inside.framing import BROKEN, RAISED, FrameReader
places, imports, optimizer = json.load(sys.stdin)
for name in imports:
    importlib.import_module(name)
if "torch" in sys.modules:
    torch = sys.modules["torch"]
    torch.set_num_threads(1)
    if optimizer:
        weight = torch.zeros(1, requires_grad=True)
        weight.grad = torch.zeros(1)
        torch.optim.SGD([weight], lr=0.1).step()
pristine, path = set(sys.modules), list(sys.path)
seconds = []
for folder, observe, cases, count, random_seed in places:
    files = {str(p.relative_to(folder)): p.read_bytes() for p in Path(folder).rglob("*") if p.is_file()}
    with tempfile.TemporaryFile() as out:
        began = time.perf_counter()
        drawn = restore_cases(base64.b64decode(cases))
        enter(Path(folder), files, None)
        run_cases(observe, drawn, range(count), 0, random_seed, out.fileno())
        seconds.append(time.perf_counter() - began)
        out.seek(0)
        for frame in FrameReader(2**30).feed(out.read()):
            if frame.kind in (BROKEN, RAISED):
                sys.exit(folder + ": " + frame.payload.decode())
    for name in set(sys.modules) - pristine:
        del sys.modules[name]
    sys.path[:] = path
print(json.dumps(seconds))
"""


_drawn: dict[str, Cases] = {}


def jobs_of(tasks: tuple[Task, ...], owner: str) -> list[Job]:
    """Return the golden of each task as a job. The first call draws the cases, before anything is measured."""
    if missing := [(task, SEED) for task in tasks if task.id not in _drawn]:
        with LocalPool(make_sandbox("process", ()), size=1) as pool:
            _drawn.update({name: cases for (name, _), cases in drawn_cases(missing, pool).items()})
    return [replace(reference_job(task, SEED, _drawn[task.id]), owner=owner) for task in tasks]


def place_of(job: Job, folder: str) -> list[object]:
    """Return the input of `FLOOR` for a job whose repository is in a folder."""
    cases = base64.b64encode(job.cases.data).decode("ascii")
    return [folder, job.observe, cases, len(job.cases.names), job.random_seed]


def checked(outcome: Outcome) -> Outcome:
    """Return the outcome. Exits unless every case was observed, because failures would distort the measurement."""
    failed = [case for case in outcome.cases if case.status != "observed"]
    if failed or not outcome.cases:
        raise SystemExit(f"the golden fails: {outcome.broken or failed[0].message}")
    return outcome


def measure_cold(tasks: tuple[Task, ...], sandbox_name: str, imports: list[str]) -> tuple[list[float], list[float]]:
    """Return the seconds and peak megabytes of each task, in a new worker for each, including the worker's start."""
    seconds, peaks = [], []
    for job in jobs_of(tasks, "cold"):
        began = time.perf_counter()
        worker = make_sandbox(sandbox_name, [default_suite()]).start(imports)
        peaks.append(checked(worker.run(job)).peak_mb)
        worker.close()
        seconds.append(time.perf_counter() - began)
    return seconds, peaks


def measure_warm(
    tasks: tuple[Task, ...], sandbox_name: str, imports: list[str]
) -> tuple[float, list[float], list[float]]:
    """Return the seconds of a worker's start, and the seconds and peak megabytes of each task in this worker."""
    began = time.perf_counter()
    worker = make_sandbox(sandbox_name, [default_suite()]).start(imports)
    start = time.perf_counter() - began
    seconds, peaks = [], []
    for job in jobs_of(tasks, "warm"):
        began = time.perf_counter()
        peaks.append(checked(worker.run(job)).peak_mb)
        seconds.append(time.perf_counter() - began)
    worker.close()
    return start, seconds, peaks


def measure_floor(tasks: tuple[Task, ...], imports: list[str]) -> tuple[float, list[float]]:
    """Return the seconds to start a process with all imports, and those of each task in it, without a sandbox."""
    with tempfile.TemporaryDirectory() as scratch:
        places = []
        for number, job in enumerate(jobs_of(tasks, "floor")):
            folder = Path(scratch, str(number))
            for name, data in job.files.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(data)
            places.append(place_of(job, str(folder)))
        began = time.perf_counter()
        output = subprocess.run(
            [sys.executable, "-B", "-c", FLOOR],
            # Pass the checks on standard input, because they exceed the maximum length of an argument.
            input=json.dumps([places, imports, True]).encode(),
            env=variables((), scratch),
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
        whole = time.perf_counter() - began
    seconds = json.loads(output.splitlines()[-1])
    return whole - sum(seconds), seconds


def measure_many(tasks: tuple[Task, ...], sandbox_name: str, count: int) -> float:
    """Return the seconds for all tasks of `count` systems in a pool with a worker per core, including its start."""
    began = time.perf_counter()
    with LocalPool(make_sandbox(sandbox_name, [default_suite()])) as pool:
        jobs = [job for number in range(count) for job in jobs_of(tasks, f"system {number}")]
        for _, outcome in pool.run(jobs):
            checked(outcome)
    return time.perf_counter() - began


def measure_command(suite: Path, sandbox_name: str) -> tuple[float, float]:
    """Return the seconds of `lmrbench grade --golden` with an empty cache, and of a second run."""
    seconds = []
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "lmrbench", "grade", "--golden", "--suite", str(suite)]
        environment = {**os.environ, "XDG_CACHE_HOME": str(Path(scratch, "cache"))}
        for run in ("first", "again"):
            began = time.perf_counter()
            whole = [*command, "--sandbox", sandbox_name, "--out", str(Path(scratch, run))]
            subprocess.run(whole, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            seconds.append(time.perf_counter() - began)
    first, again = seconds
    return first, again


def main() -> None:
    """Measure, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=Path, default=default_suite())
    parser.add_argument("--sandbox", default="bubblewrap")
    parser.add_argument("--repeats", type=int, default=3, help="the median of this many runs is shown")
    arguments = parser.parse_args()
    tasks = load_suite(arguments.suite)
    imports = sorted({name for task in tasks for name in third_party_imports(task)})

    floors, warms, colds = [], [], []
    for _ in range(arguments.repeats):
        floors.append(measure_floor(tasks, imports))
        warms.append(measure_warm(tasks, arguments.sandbox, imports))
        colds.append(measure_cold(tasks, arguments.sandbox, imports))

    def per_task(runs: list[list[float]]) -> list[float]:
        return [statistics.median(values) for values in zip(*runs, strict=True)]

    floor = per_task([run[1] for run in floors])
    warm = per_task([run[1] for run in warms])
    cold = per_task([run[0] for run in colds])
    warm_peak = per_task([run[2] for run in warms])
    cold_peak = per_task([run[1] for run in colds])

    console = Console()
    table = Table("Task", "floor s", "warm s", "cold s", "warm MB", "cold MB", title=f"{arguments.sandbox}, one worker")
    for number, task in enumerate(tasks):
        times = (f"{values[number]:.3f}" for values in (floor, warm, cold))
        table.add_row(task.id, *times, *(f"{values[number]:.0f}" for values in (warm_peak, cold_peak)))
    table.add_section()
    totals = [f"{sum(values):.3f}" for values in (floor, warm, cold)]
    table.add_row("all", *totals, f"{max(warm_peak):.0f}", f"{max(cold_peak):.0f}")
    console.print(table)

    start = statistics.median(run[0] for run in warms)
    imported = statistics.median(run[0] for run in floors)
    count = len(tasks)
    over_warm, over_cold = (sum(warm) - sum(floor)) / count, (sum(cold) - sum(floor)) / count
    console.print(
        f"isolation per task: cold {over_cold:.3f} s, warm {over_warm:.4f} s, ratio {over_cold / over_warm:.1f}"
    )
    console.print(f"a whole system on one worker: {start + sum(warm):.2f} s, of which the worker's start {start:.2f} s")
    bound = MOST_FLOORS * sum(floor) + imported
    console.print(f"{MOST_FLOORS} floors and one import: {bound:.2f} s; ratio {(start + sum(warm)) / bound:.2f}")

    growth = Table("Systems", "seconds", "seconds per system", title="a pool with one worker per core")
    for systems in (1, 4, 16):
        seconds = measure_many(tasks, arguments.sandbox, systems)
        growth.add_row(str(systems), f"{seconds:.2f}", f"{seconds / systems:.2f}")
    console.print(growth)

    command = Table("lmrbench grade --golden", "seconds", f"{MOST_FLOORS} floors", "ratio")
    commands = [measure_command(arguments.suite, arguments.sandbox) for _ in range(arguments.repeats)]
    for checks, name, runs in zip((2, 1), ("first", "again"), zip(*commands, strict=True), strict=True):
        seconds, bound = statistics.median(runs), MOST_FLOORS * (checks * sum(floor) + imported)
        command.add_row(name, f"{seconds:.2f}", f"{bound:.2f}", f"{seconds / bound:.2f}")
    console.print(command)


if __name__ == "__main__":
    main()
