"""What does `lmrbench solve` add to asking and grading? Both ways over the same local server and the same grader.

(a) bare: threads that post to the server, transplant and grade; (b) `lmrbench solve` in the prompt setting. Each is run
with few and with many answers; the difference, divided by the number of answers between, is what one answer takes, free
of what starting takes.

    PYTHONPATH=. python benchmarks/solving.py [--samples N] [--connections N] [--seconds S]
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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tests.solving.server import Reply, serving

from lmrbench.grading.golden import installation_seed
from lmrbench.grading.grade import grade
from lmrbench.sandbox.doctor import make_sandbox
from lmrbench.sandbox.pool import WorkerPool
from lmrbench.solving.prompts import prompt_message
from lmrbench.solving.task import MOST_CHARACTERS
from lmrbench.tasks.loading import default_suite, load_suite, select
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.workspace import third_party_imports

PAPERS = ("dpo", "simclr", "cad", "bertscore")
MODEL = "openai-api/local/model"
MOST_SHARE, MOST_SECONDS = 0.15, 0.05


def main() -> None:
    """Run both ways and print what one answer takes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=12, help="answers to each task, in the longer runs")
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=0.2, help="how long the server takes for an answer")
    arguments = parser.parse_args()
    tasks = select(load_suite(default_suite()), PAPERS)
    answers = {str(task.targets[0]): (task.repo / task.goal_files[0]).read_text("utf-8") for task in tasks}

    def script(request) -> Reply:
        name = next(name for name in answers if f"`{name}`" in request.text)
        return Reply(f"```python\n{answers[name]}\n```", seconds=arguments.seconds)

    few, many = 2, arguments.samples
    between = (many - few) * len(tasks)
    with serving(script) as (base, _):
        bare = {count: _bare(base, tasks, count, arguments.connections) for count in (few, many)}
        solve = {count: _solve(base, count, arguments.connections) for count in (few, many)}
    per_bare = (bare[many] - bare[few]) / between
    per_solve = (solve[many] - solve[few]) / between
    table = Table("", f"{few * len(tasks)} answers (s)", f"{many * len(tasks)} answers (s)", "one answer (ms)")
    for name, seconds, one in (("bare loop", bare, per_bare), ("lmrbench solve", solve, per_solve)):
        table.add_row(name, f"{seconds[few]:.1f}", f"{seconds[many]:.1f}", f"{1000 * one:.0f}")
    console = Console()
    console.print(table)
    allowed = max(MOST_SHARE * per_bare, MOST_SECONDS)
    overhead = per_solve - per_bare
    console.print(f"overhead {1000 * overhead:.0f} ms an answer; the bound is {1000 * allowed:.0f} ms")


def _bare(base: str, tasks, count: int, connections: int) -> float:
    imports = sorted({name for task in tasks for name in third_party_imports(task)})
    by_id = {task.id: task for task in tasks}

    def answer(job) -> None:
        task, sample = job
        message = {"role": "user", "content": prompt_message(task, "full", "digest", MOST_CHARACTERS).text}
        body = json.dumps({"model": "model", "messages": [message]}).encode()
        request = urllib.request.Request(f"{base}/chat/completions", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as response:
            text = json.load(response)["choices"][0]["message"]["content"]
        submission = Submission(system="bare", task=task.id, sample=sample, code=text)
        (result,) = grade([submission], by_id, (installation_seed(),), pool)
        assert result.passed

    began = time.perf_counter()
    with (
        WorkerPool(make_sandbox("bubblewrap", [default_suite()]), imports) as pool,
        ThreadPoolExecutor(connections) as threads,
    ):
        list(threads.map(answer, [(task, sample) for sample in range(count) for task in tasks]))
    return time.perf_counter() - began


def _solve(base: str, count: int, connections: int) -> float:
    environment = {**os.environ, "LOCAL_BASE_URL": base, "LOCAL_API_KEY": "key"}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "lmrbench", "solve", "--model", MODEL, "--samples", str(count)]
        command += ["--connections", str(connections), "--out", str(Path(folder) / "run")]
        command += [word for paper in PAPERS for word in ("--task", paper)]
        began = time.perf_counter()
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return time.perf_counter() - began


if __name__ == "__main__":
    main()
