"""Measure the speed and the memory of `lmrbench grade` on ten thousand submissions.

The submissions are the goldens, masks, rewrites, wrong versions and mutants of the suite, spread over a hundred
systems. Once all are used, other systems submit them again, as real systems may give equal answers. Each submission is
graded until its first failed case. After each hundred grades, the time and the resident memory of the command's own
process are recorded.

    python benchmarks/throughput.py [--suite DIR] [--count N] [--sandbox NAME]
"""

from __future__ import annotations

import argparse
import itertools
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from lmrbench.authoring.audit.mutants import mutants
from lmrbench.grading.systems import submissions_of
from lmrbench.source.syntax import decode
from lmrbench.tasks.loading import default_suite, load_suite
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.workspace import answered_files

SYSTEMS, WINDOW, STEADY_FROM = 100, 100, 1000
MOST_GROWTH = 0.10


def codes_of(task: Task) -> Iterator[dict[str, str]]:
    """Yield the distinct answers to a task, as the code of each goal file; those of built-in systems come first."""
    for system in ("golden", "mask", "rewrites", "wrong"):
        for item in submissions_of(system, [task]):
            yield dict(item.code) if isinstance(item.code, dict) else dict.fromkeys(task.goal_files, item.code)
    solved = {name: decode(data)[0] for name, data in answered_files(task).items() if name in task.goal_files}
    for mutant in mutants(task):
        yield {**solved, mutant.target.file: decode(mutant.file)[0]}


def submissions(tasks: tuple[Task, ...], count: int) -> Iterator[Submission]:
    """Yield `count` answers, spread over tasks and systems. The code is repeated once all of it is used."""
    codes = {task.id: list(codes_of(task)) for task in tasks}
    every_turn = ((turn, task) for turn in itertools.count() for task in tasks)
    for number, (turn, task) in enumerate(itertools.islice(every_turn, count)):
        code = codes[task.id][turn % len(codes[task.id])]
        yield Submission(system=f"system {turn % SYSTEMS}", task=task.id, sample=number, code=code)


def resident_mb(process: int) -> float:
    """Return the resident memory of a process in MiB."""
    fields = Path(f"/proc/{process}/statm").read_text().split()
    return int(fields[1]) * 4096 / 2**20


def watched(command: list[str], grades: Path) -> list[tuple[float, int, float]]:
    """Run a command; return seconds, grades and megabytes after each `WINDOW` lines in the file of grades."""
    began, seen, rest = time.perf_counter(), 0, 0
    found: list[tuple[float, int, float]] = []
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            time.sleep(0.2)
            if not grades.exists():
                continue
            with grades.open("rb") as file:
                file.seek(rest)
                data = file.read()
            rest += len(data)
            before, seen = seen, seen + data.count(b"\n")
            if seen // WINDOW > before // WINDOW:
                found.append((time.perf_counter() - began, seen, resident_mb(process.pid)))
        if process.returncode not in (0, 1):
            raise SystemExit(process.stderr.read() if process.stderr else "the command failed")
    return found


def grown(suite: Path, sandbox: str, count: int) -> tuple[list[tuple[float, int, float]], int]:
    """Grade `count` answers with the command; return the result of `watched` and the number of distinct answers."""
    with tempfile.TemporaryDirectory() as scratch:
        answers, run = Path(scratch, "answers.jsonl"), Path(scratch, "run")
        distinct: set[tuple[str, str]] = set()
        with answers.open("w") as file:
            for item in submissions(load_suite(suite), count):
                distinct.add((item.task, str(item.code)))
                file.write(item.model_dump_json() + "\n")
        command = [sys.executable, "-m", "lmrbench", "--quiet", "grade", str(answers), "--fail-fast"]
        command += ["--suite", str(suite), "--sandbox", sandbox, "--out", str(run)]
        points = watched(command, run / "grades.jsonl")
    if not points:
        raise SystemExit(f"too few answers: at least {WINDOW} are needed")
    return points, len(distinct)


def rates_of(points: list[tuple[float, int, float]]) -> list[float]:
    """Return the grades per second in each window."""
    return [(now[1] - last[1]) / (now[0] - last[0]) for last, now in itertools.pairwise([(0.0, 0, 0.0), *points])]


def standard_error(values: list[float]) -> float:
    """Return the standard error of the mean of some values; NaN for a single value."""
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def growth_of(points: list[tuple[float, int, float]]) -> float | None:
    """Return the largest relative growth of memory after `STEADY_FROM` grades; None if there are fewer grades."""
    steady = [mb for _, seen, mb in points if seen >= STEADY_FROM]
    return max(steady) / steady[0] - 1 if steady else None


def main() -> None:
    """Measure, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=Path, default=default_suite())
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--sandbox", default="bubblewrap")
    arguments = parser.parse_args()
    points, distinct = grown(arguments.suite, arguments.sandbox, arguments.count)
    console = Console()
    table = Table("Grades", "seconds", "grades per second", "MB")
    rates = rates_of(points)
    for (seconds, seen, mb), rate in zip(points, rates, strict=True):
        table.add_row(str(seen), f"{seconds:.0f}", f"{rate:.1f}", f"{mb:.0f}")
    console.print(table)
    console.print(f"{arguments.count} answers, {distinct} of them distinct")
    mean = points[-1][1] / points[-1][0]
    console.print(f"{mean:.2f} grades per second, standard error {standard_error(rates):.2f} over windows")
    if (growth := growth_of(points)) is not None:
        console.print(f"memory after {STEADY_FROM} grades: {growth:+.1%} at most; the bound is {MOST_GROWTH:.0%}")


if __name__ == "__main__":
    main()
