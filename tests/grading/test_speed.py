"""How fast an answer is beside the golden: what counts, what is charged, and what has no speed."""

import shutil

import pytest
from tests.graded import graded_run

from lmrbench.errors import TaskError
from lmrbench.grading import speed
from lmrbench.grading.candidates import prepare
from lmrbench.grading.speed import has_timed_inputs, measure
from lmrbench.runs.folder import read_run
from lmrbench.runs.grading import time_run
from lmrbench.sandbox.pool import LocalPool
from lmrbench.sandbox.registry import make_sandbox
from lmrbench.tasks.loading import load_suite
from lmrbench.tasks.submission import Submission

# Only the timed list has more than a hundred values. The golden sleeps over it, so no machine is too fast for the test.
TIMED = """

def timed(seed):
    yield {"name": "many values", "values": [float(n) for n in range(1000)], "scale": 2.0 + seed}
"""
RIGHT = """
def blend(self, values):
    import time
    {more}
    time.sleep({seconds} if len(values) > 100 else 0)
    factors = weights(len(values))
    return self.scale * sum(map(float.__mul__, factors, values)) / max(sum(factors), 1.0)
"""


def answer(seconds, more="pass"):
    return RIGHT.format(seconds=seconds, more=more)


@pytest.fixture(autouse=True)
def fewest_rounds(monkeypatch):
    monkeypatch.setattr(speed, "MOST_SECONDS", 0.0)


@pytest.fixture(scope="module")
def suite(toy_suite, tmp_path_factory):
    return write_suite(toy_suite, tmp_path_factory.mktemp("suite"))


def write_suite(toy_suite, folder, check=TIMED, seconds=0.06):
    """The toy suite with timed inputs."""
    shutil.copytree(toy_suite / "toy", folder / "toy", ignore=shutil.ignore_patterns("__pycache__"))
    file = folder / "toy" / "checks" / "blend.py"
    file.write_text(file.read_text() + check)
    goal = folder / "toy" / "repo" / "blending.py"
    line = "        factors = weights(len(values))\n"
    sleep = f"        __import__('time').sleep({seconds} if len(values) > 100 else 0)\n"
    goal.write_text(goal.read_text().replace(line, sleep + line))
    return folder


@pytest.fixture(scope="module")
def pool(suite):
    with LocalPool(make_sandbox("bubblewrap", [suite]), size=1) as pool:
        yield pool


def timing_of(pool, suite, code):
    (task,) = load_suite(suite)
    return measure(prepare(Submission(system="me", task=task.id, code=code), task), 0, pool)


def test_an_answer_that_sleeps_longer_is_slower(pool, suite):
    slow = timing_of(pool, suite, answer(0.3))

    assert 0 < slow.speed.low <= slow.speed.median <= slow.speed.high < 1
    assert slow.rounds == speed.LEAST_ROUNDS
    assert slow.golden_seconds >= 0.06
    assert slow.reason == ""


def test_what_a_candidate_does_to_its_clock_makes_it_no_faster(pool, suite):
    assert timing_of(pool, suite, answer(0.3, "time.perf_counter = lambda: 0.0")).speed.high < 1


def test_what_a_candidate_does_before_its_first_case_is_charged(pool, toy_suite, tmp_path):
    early = write_suite(toy_suite, tmp_path, check=f"\n\nimport blending{TIMED}")
    code = "import time\nREADY = time.sleep(0.3)\n" + answer(0.0, "READY")
    assert timing_of(pool, early, code).speed.high < 1


def test_memory_is_counted_beyond_what_the_inputs_take(pool, suite):
    hungry = timing_of(pool, suite, answer(0.0, "block = bytearray(b'x') * (100 << 20)"))
    frugal = timing_of(pool, suite, answer(0.0))
    assert hungry.memory.high < 0.2
    assert frugal.memory.median == 1


def test_an_answer_that_is_wrong_on_a_timed_input_has_no_speed_and_a_reason(pool, suite):
    timing = timing_of(pool, suite, answer(0.0, "values = values[:100]"))
    assert (timing.speed, timing.memory) == (None, None)
    assert timing.reason.startswith("timed input many values: mismatch: blend: expected ")


def test_a_golden_that_is_too_fast_to_measure_is_said(pool, toy_suite, tmp_path):
    timing = timing_of(pool, write_suite(toy_suite, tmp_path, seconds=0.0), answer(0.0))
    assert timing.speed is None
    assert timing.reason.endswith("s on the timed inputs, too little to measure")


def test_a_golden_that_fails_on_its_own_timed_inputs_is_the_tasks_fault(pool, toy_suite, tmp_path):
    broken = write_suite(toy_suite, tmp_path, check="\n\ndef timed(seed):\n    yield {}\n")
    with pytest.raises(TaskError, match="toy/blend: the reference fails its own check in case 0"):
        timing_of(pool, broken, answer(0.0))


def test_timed_inputs_are_optional(suite, toy_suite):
    assert [has_timed_inputs(task) for folder in (suite, toy_suite) for task in load_suite(folder)] == [True, False]


def test_a_speed_is_kept_with_its_grade_and_not_measured_again(pool, suite, tmp_path):
    tasks = {task.id: task for task in load_suite(suite)}
    codes = (answer(0.0), answer(0.0, "values = [*values]"))
    submissions = [Submission(system="me", task="toy/blend", sample=n, code=code) for n, code in enumerate(codes)]
    grades = list(graded_run(tmp_path, submissions, tasks, (0,), pool))
    # It was stopped after the first answer.
    (first,) = time_run(tmp_path, grades[:1], submissions, tasks, pool)

    resumed = list(graded_run(tmp_path, submissions, tasks, (0,), pool))
    both = list(time_run(tmp_path, resumed, submissions, tasks, pool))

    assert first in both
    assert all(item.timing.speed for item in both)
    assert {item.sample: item.timing for item in read_run(tmp_path).grades} == {
        item.sample: item.timing for item in both
    }
    assert all(item.correct for item in both)
    assert len((tmp_path / "grades.jsonl").read_text().splitlines()) == 4
