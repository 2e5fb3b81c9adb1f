"""Compare the verdicts on references, rewrites, masks and wrong versions on an idle machine and under load.

The load is a number of processes that compute without pause, each in a session of its own. The kernel first divides
processor time between sessions, so a worker gets only a small share. The verdict on each answer and its first failed
case must be the same as on the idle machine. Under load, the outputs of the references are cached already.

    python benchmarks/load.py [--suite DIR] [--busy N] [--wrong N] [--repeats N]
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lmrbench.grading.grader import Grader
from lmrbench.grading.plan import GradingPlan
from lmrbench.grading.systems import submissions_of
from lmrbench.tasks.loading import default_suite, load_suite
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Submission

SEED = 5
Found = dict[tuple[str, str, int], tuple[bool, str]]


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Run this many busy processes, each in a session of its own, while the context is open."""
    command = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(command, start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def chosen(tasks: tuple[Task, ...], wrong: int) -> list[Submission]:
    """Return the references, rewrites, masks, and `wrong` wrong versions, taken from the tasks in turn."""
    must = [item for system in ("golden", "rewrites", "mask") for item in submissions_of(system, tasks)]
    of_tasks = [list(submissions_of("wrong", [task])) for task in tasks]
    turns = (item for turn in itertools.zip_longest(*of_tasks) for item in turn if item is not None)
    return [*must, *itertools.islice(turns, wrong)]


def verdicts(submissions: list[Submission], tasks: tuple[Task, ...]) -> tuple[Found, float]:
    """Return whether each answer is robust, with its first failure, and the seconds that grading took."""
    began = time.monotonic()
    found: Found = {}
    with Grader({task.id: task for task in tasks}, GradingPlan((SEED,), fail_fast=True)) as grader:
        for _, item in grader.grade_all(submissions):
            failure = item.first_failure
            found[item.answer] = (item.robust, f"{failure.name}: {failure.verdict}" if failure else "")
    return found, time.monotonic() - began


def main() -> None:
    """Grade on the idle machine, then under load, and print every verdict that differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=Path, default=default_suite())
    parser.add_argument("--busy", type=int, default=14)
    parser.add_argument("--wrong", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    tasks = tuple(task for task in load_suite(arguments.suite) if task.files.check and task.tier == "function")
    submissions = chosen(tasks, arguments.wrong)
    verdicts(submissions[:1], tasks)
    idle, seconds = verdicts(submissions, tasks)
    print(
        f"idle: {len(idle)} answers in {seconds:.0f} s, {sum(passed for passed, _ in idle.values())} pass", flush=True
    )
    differing = 0
    for number in range(arguments.repeats):
        with busy(arguments.busy):
            loaded, seconds = verdicts(submissions, tasks)
        differ = [answer for answer in idle if idle[answer] != loaded[answer]]
        differing += len(differ)
        print(f"{arguments.busy} busy, {number + 1}: {seconds:.0f} s, {len(differ)} verdicts differ", flush=True)
        for answer in differ:
            print(f"  {answer}: {idle[answer]} idle, {loaded[answer]} under load", flush=True)
    sys.exit(int(differing > 0))


if __name__ == "__main__":
    main()
