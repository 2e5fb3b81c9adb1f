"""Measure the overhead of `lmrbench run` over plain requests and grading, with the same local server and grader.

(a) bare: threads that post to the server, transplant and grade; (b) `lmrbench run` in the prompt setting. The time is
measured from the request at which all is warm (the first `2 * connections` requests are skipped) until the end. The two
alternate, and their medians are compared.

    PYTHONPATH=. python benchmarks/solving.py [--samples N] [--connections N] [--seconds S] [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table
from tests.solving.server import Reply, serving

from lmrbench.grading.grader import Grader
from lmrbench.models.settings import MOST_CHARACTERS
from lmrbench.solving.prompts import prompt_message
from lmrbench.tasks.loading import default_suite, load_suite
from lmrbench.tasks.selection import select
from lmrbench.tasks.submission import Submission

PAPERS = ("dpo", "simclr", "cad", "bertscore")
MODEL = "openai-api/local/model"
MOST_SHARE, MOST_SECONDS = 0.15, 0.05


def main() -> None:
    """Run both, and print the time per answer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=24, help="answers to each task")
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=0.2, help="seconds that the server takes for an answer")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    tasks = select(load_suite(default_suite()), PAPERS)
    answers = {str(task.targets[0]): task.files.repository[task.goal_files[0]].decode() for task in tasks}
    asked: list[float] = []

    def script(request) -> Reply:
        asked.append(time.perf_counter())
        name = next(name for name in answers if f"`{name}`" in request.text)
        return Reply(f"```python\n{answers[name]}\n```", seconds=arguments.seconds)

    ways: dict[str, Callable[..., None]] = {"bare loop": _bare, "lmrbench run": _solve}
    taken: dict[str, list[float]] = {name: [] for name in ways}
    warm = 2 * arguments.connections
    with serving(script) as (base, _):
        for _ in range(arguments.rounds):
            for name, way in ways.items():
                asked.clear()
                way(base, tasks, arguments.samples, arguments.connections)
                assert len(asked) == len(tasks) * arguments.samples
                taken[name].append((time.perf_counter() - asked[warm]) / (len(asked) - warm))
    table = Table("", *(f"round {number + 1} (ms)" for number in range(arguments.rounds)), "one answer (ms)")
    for name, seconds in taken.items():
        table.add_row(name, *(f"{1000 * one:.0f}" for one in seconds), f"{1000 * median(seconds):.0f}")
    console = Console()
    console.print(table)
    bare, solve = map(median, taken.values())
    allowed = max(MOST_SHARE * bare, MOST_SECONDS)
    console.print(f"overhead {1000 * (solve - bare):.0f} ms per answer; the bound is {1000 * allowed:.0f} ms")


def _bare(base: str, tasks, count: int, connections: int) -> None:
    # Run in a separate process, as `lmrbench run` does, because the server keeps this process busy.
    loop = get_context("spawn").Process(target=_bare_loop, args=(base, [task.id for task in tasks], count, connections))
    loop.start()
    loop.join()
    assert loop.exitcode == 0


def _bare_loop(base: str, names: list[str], count: int, connections: int) -> None:
    tasks = select(load_suite(default_suite()), names)
    by_id = {task.id: task for task in tasks}
    prompts = {task.id: prompt_message(task, "full", "summary", MOST_CHARACTERS).text for task in tasks}

    def answer(job) -> None:
        task, sample = job
        message = {"role": "user", "content": prompts[task.id]}
        body = json.dumps({"model": "model", "messages": [message]}).encode()
        request = urllib.request.Request(f"{base}/chat/completions", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as response:
            text = json.load(response)["choices"][0]["message"]["content"]
        submission = Submission(system="bare", task=task.id, sample=sample, code=text)
        ((_, result),) = grader.grade_all([submission])
        assert result.correct

    with (
        Grader(by_id) as grader,
        ThreadPoolExecutor(connections) as threads,
    ):
        list(threads.map(answer, [(task, sample) for sample in range(count) for task in tasks]))


def _solve(base: str, tasks, count: int, connections: int) -> None:
    environment = {**os.environ, "LOCAL_BASE_URL": base, "LOCAL_API_KEY": "key"}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "lmrbench", "run", "--no-report", "--model", MODEL, "--samples", str(count)]
        command += ["--connections", str(connections), "--out", str(Path(folder) / "run")]
        command += [word for task in tasks for word in ("--task", task.id)]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
