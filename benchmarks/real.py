"""Measure the cost of a large repository, a package of thousands of files, for one task, and compare it with bounds.

Measured are the processor time of commands on a suite of that one paper, the time of the check in a warm worker
(compared with the same check on only the modules that it needs), the memory of this process over a hundred submissions,
and the processor time of the search for leaks.

    lmrbench setup fetch --suite real typical_sampling && lmrbench setup env build --suite real typical_sampling
    python benchmarks/real.py [--suite DIR] [--task ID]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from lmrbench.authoring.audit.leaks import worst_leak
from lmrbench.grading.draw import drawn_cases, reference_job
from lmrbench.grading.grader import Grader
from lmrbench.sandbox.pool import LocalPool
from lmrbench.sandbox.registry import make_sandbox
from lmrbench.sandbox.trees import needed_modules
from lmrbench.tasks.loading import default_suite, load_suite
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Submission

ROUNDS, SUBMISSIONS = 5, 100


def command_seconds(*arguments: str) -> float:
    """Return the median of a command's processor seconds over `ROUNDS` rounds, after a first run to warm up."""
    seconds = []
    for _ in range(ROUNDS + 1):
        with tempfile.TemporaryDirectory() as scratch:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            words = [word.format(scratch=scratch) for word in arguments]
            subprocess.run([sys.executable, "-m", "lmrbench", *words], check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return median(seconds[1:])


def run_seconds(task: Task, files: Mapping[str, bytes], pool: LocalPool) -> float:
    """Return the median of the seconds that the check takes in a warm worker, over `ROUNDS` rounds."""
    cases = drawn_cases([(task, 0)], pool)[task.id, 0]
    job = replace(reference_job(task, 0, cases), files=files)
    seconds = []
    for _ in range(ROUNDS + 1):
        [(_, outcome)] = pool.run([job])
        if outcome.broken is not None or any(case.status != "observed" for case in outcome.cases):
            raise SystemExit(f"the golden fails: {outcome.broken or outcome.log}")
        seconds.append(outcome.seconds)
    return median(seconds[1:])


def grown_megabytes(task: Task, pool: LocalPool) -> float:
    """Return by how many megabytes this process grows from the tenth submission to the last."""
    golden = {file: task.files.repository[file].decode() for file in task.goal_files}
    submissions = [Submission(system="many", task=task.id, sample=number, code=golden) for number in range(SUBMISSIONS)]
    sizes = []
    for _, found in Grader({task.id: task}, pool=pool).grade_all(submissions):
        if not found.robust:
            raise SystemExit("the golden fails")
        sizes.append(_resident_megabytes())
    return sizes[-1] - sizes[9]


def _resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def processor_seconds(call: Callable[[], object]) -> float:
    """Return the processor seconds of a call in this process."""
    began = time.process_time()
    call()
    return time.process_time() - began


def main() -> None:
    """Measure, print the results, and exit with 1 if a bound is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="typical_sampling/warp")
    parser.add_argument("--suite", type=Path, default=default_suite() / "real")
    arguments = parser.parse_args()
    wanted, suite = arguments.task, arguments.suite
    task = next(task for task in load_suite(suite) if task.id == wanted)
    modules = set(needed_modules(task.files.repository, task.files.check))
    if (experiment := task.files.repository.get("experiment.py")) is not None:
        modules |= {"experiment.py", *needed_modules(task.files.repository, experiment.decode())}
    small = {path: bytes(task.files.repository[path]) for path in sorted(modules)}
    with LocalPool(make_sandbox("bubblewrap", [suite]), 1) as pool:
        large_run = run_seconds(task, task.files.repository, pool)
        small_run = run_seconds(task, small, pool)
        grown = grown_megabytes(task, pool)
    with tempfile.TemporaryDirectory() as alone:
        (Path(alone) / task.paper.slug).symlink_to(task.folder.resolve())
        commands = (
            ("list, seconds", command_seconds("list", "--suite", alone), 1.0),
            ("show, seconds", command_seconds("show", wanted, "--suite", alone), 1.0),
            ("export, seconds", command_seconds("export", wanted, "--suite", alone, "--to", "{scratch}/work"), 5.0),
        )
    measured = (
        *commands,
        ("a run, seconds more than with only the modules it needs", large_run - small_run, 0.2),
        (f"memory from the 10th of {SUBMISSIONS} submissions on, MB", grown, 10.0),
        ("search for leaks, seconds", processor_seconds(lambda: worst_leak(task)), 60.0),
    )
    files = len(task.files.repository)
    table = Table("", "measured", "bound", title=f"{wanted}: {files:,} files, of which a run needs {len(small):,}")
    for name, value, bound in measured:
        table.add_row(name, f"{value:.2f}", f"{bound:g}")
    Console().print(table)
    sys.exit(any(value > bound for _, value, bound in measured))


if __name__ == "__main__":
    main()
