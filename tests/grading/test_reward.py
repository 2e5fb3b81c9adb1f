"""Rewards: one call a candidate, under cases that are new each time, from any thread and after a fork."""

import asyncio
import multiprocessing
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.toy import RIGHT, UNSCALED

from lmrbench.errors import SandboxError, UsageError
from lmrbench.files import cache_folder
from lmrbench.grading.grader import Grader
from lmrbench.grading.plan import GradingPlan
from lmrbench.sandbox import warm_worker

pytestmark = pytest.mark.sandbox

SLOW = "def blend(self, values):\n    import time\n    time.sleep(60 if len(values) == 1 else 0)\n    return 0.0\n"


@pytest.fixture
def grader(toy_suite):
    with Grader(toy_suite, GradingPlan(workers=2)) as opened:
        yield opened


@pytest.mark.parametrize(
    ("candidate", "share"),
    [
        (RIGHT, 1.0),
        (f"Here it is:\n```python\n{RIGHT}\n```\nI hope that helps.", 1.0),
        # No values give 0.0, whatever the scale is.
        (UNSCALED, 0.25),
        ("I can't do that.", 0.0),
        ("", 0.0),
        ("def blend(self, values:", 0.0),
        ("\0\ud800", 0.0),
        ("(" * 100_000, 0.0),
        ("#" * (1 << 21), 0.0),
    ],
    ids=["right", "a response", "half right", "prose", "empty", "cut", "no text", "nested", "huge"],
)
def test_whatever_a_policy_writes_is_a_grade(grader, candidate, share):
    grade = grader.grade("toy/blend", candidate)

    assert grade.share == share
    assert grade.correct is (share == 1.0)


def test_what_takes_too_long_is_a_verdict(grader, monkeypatch):
    # It sleeps, so only the limit by the clock ends it.
    monkeypatch.setattr(warm_worker, "WALL_FACTOR", 1)
    grade = grader.grade("toy/blend", {"blending.py": SLOW})

    assert [case.verdict for case in grade.cases] == ["match", "timeout", "mismatch", "mismatch"]


def test_each_call_is_under_a_seed_of_its_own_and_nothing_of_it_is_kept(grader):
    seeds = {grader.grade("toy/blend", RIGHT).seeds for _ in range(4)}

    assert len(seeds) == 4
    kept = cache_folder() / "golden"
    assert not [file for file in kept.glob("*") for (seed,) in seeds if f"-{seed}-" in file.name]


def test_calls_come_from_many_threads_and_from_a_loop_of_asyncio(grader):
    asked = [RIGHT, UNSCALED] * 8

    with ThreadPoolExecutor(8) as threads:
        by_threads = [grade.correct for grade in threads.map(lambda code: grader.grade("toy/blend", code), asked)]

    async def together():
        return await asyncio.gather(*(grader.grade_async("toy/blend", code) for code in asked))

    assert by_threads == [grade.correct for grade in asyncio.run(together())] == [True, False] * 8


# From Python 3.12 on; trainers fork all the same.
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_process_has_workers_of_its_own_and_costs_its_parent_nothing(grader):
    assert grader.grade("toy/blend", RIGHT).correct
    fork = multiprocessing.get_context("fork")
    answers = fork.SimpleQueue()

    def child():
        with grader:
            answers.put(grader.grade("toy/blend", RIGHT).share)

    stop = threading.Event()
    busy = threading.Thread(target=lambda: [grader.grade("toy/blend", RIGHT) for _ in iter(stop.is_set, True)])
    busy.start()
    try:
        children = [fork.Process(target=child) for _ in range(3)]
        for process in children:
            process.start()
        for process in children:
            process.join(60)
    finally:
        stop.set()
        busy.join(60)

    assert [process.exitcode for process in children] == [0, 0, 0]
    assert [answers.get() for _ in children] == [1.0, 1.0, 1.0]
    assert grader.grade("toy/blend", RIGHT).correct


def test_a_sandbox_that_does_not_exist_is_named_before_anything_is_graded(toy_suite):
    with pytest.raises(SandboxError, match=r"there is no sandbox 'bubblewarp'; did you mean bubblewrap\?"):
        Grader(toy_suite, GradingPlan(sandbox="bubblewarp"))


def test_closing_ends_calls_that_are_under_way_without_a_grade(toy_suite):
    grader = Grader(toy_suite, GradingPlan(workers=1))
    assert grader.grade("toy/blend", RIGHT).correct
    with ThreadPoolExecutor(3) as threads:
        calls = [threads.submit(grader.grade, "toy/blend", SLOW) for _ in range(3)]
        time.sleep(1.5)
        began = time.monotonic()
        grader.close()
        errors = [call.exception(30) for call in calls]

    assert time.monotonic() - began < 15
    assert {type(error) for error in errors} <= {SandboxError, UsageError}
    grader.close()
    with pytest.raises(UsageError, match="closed"):
        grader.grade("toy/blend", RIGHT)


def test_a_task_that_is_not_there_is_the_callers_fault(grader):
    with pytest.raises(UsageError, match="'toy/other'"):
        grader.grade("toy/other", RIGHT)


@pytest.mark.torch
def test_the_example_of_the_page_keeps_what_passes():
    page = Path(__file__).parents[2] / "docs" / "train-a-policy.md"
    (example,) = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)

    printed = subprocess.run([sys.executable, "-c", example], check=True, capture_output=True, text=True).stdout

    *attempts, last = printed.splitlines()
    assert attempts[-1].startswith("none: 100% of")
    assert all("100%" not in line for line in attempts[:-1])
    assert last == "kept for fine-tuning: ['simpo/simpo_loss']"


@pytest.mark.parametrize("candidate", [None, 3, ["x"], {"blending.py": 3}, {3: "x"}, object()])
def test_what_is_no_text_is_the_callers_mistake_in_one_line(toy_suite, candidate):
    with (
        Grader(toy_suite, GradingPlan(workers=1)) as grader,
        pytest.raises(UsageError, match=r"^toy/blend: expected a text"),
    ):
        grader.grade("toy/blend", candidate)
