"""What is on the disk when a run is broken off: killed at any moment, by twos, or on a disk that becomes full."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from tests.graded import graded_run

from lmrbench.errors import RecordError
from lmrbench.runs.folder import read_run
from lmrbench.sandbox.pool import LocalPool
from lmrbench.sandbox.registry import make_sandbox
from lmrbench.tasks.loading import load_suite
from lmrbench.tasks.submission import Submission

pytestmark = pytest.mark.sandbox

CODES = [f"def blend(self, values):\n    return {number}.5\n" for number in range(6)]
ANSWERS = [
    Submission(system=f"system {number % 3}", task="toy/blend", sample=number, code=code)
    for number, code in enumerate(CODES)
]


class Replay:
    """A pool that gives back what a sandbox observed before, each a moment after the other, in any order."""

    def __init__(self, pool, generator):
        self.sandbox = pool.sandbox
        self.observed = {}
        self.pool = pool
        self.generator = generator

    def run(self, jobs):
        """The outcomes of jobs; those that were not observed yet are."""
        jobs = list(jobs)
        new = [job for job in jobs if _name(job) not in self.observed]
        for number, outcome in self.pool.run(new) if new else ():
            self.observed[_name(new[number])] = outcome
        for number in self.generator.sample(range(len(jobs)), len(jobs)):
            time.sleep(0.002)
            yield number, self.observed[_name(jobs[number])]


def _name(job):
    return job.observe, job.cases.data, tuple(sorted(job.files.items()))


def _forked(folder, tasks, replay, seed):
    """Grade in a process of its own, which ends with 0, or with 4 where another one holds the folder."""
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        replay.generator = random.Random(seed)
        list(graded_run(folder, ANSWERS, tasks, (0,), replay))
        status = 0
    except RecordError as error:
        status = 4 if "another lmrbench" in str(error) else 1
    finally:
        os._exit(status)


def _verdicts(folder):
    grades = [json.loads(line) for line in (folder / "grades.jsonl").read_text().splitlines()]
    return Counter((item["system"], item["sample"], item["correct"], item["candidate_digest"]) for item in grades)


# From Python 3.12 on, because pytest-xdist has threads.
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_of_two_hundred_interleavings_of_kills_and_resumes_none_loses_or_doubles_a_grade(toy_suite, tmp_path):
    tasks, generator = {task.id: task for task in load_suite(toy_suite)}, random.Random(0)
    with LocalPool(make_sandbox("bubblewrap", [toy_suite]), size=1) as pool:
        replay = Replay(pool, generator)
        list(graded_run(tmp_path / "undisturbed", ANSWERS, tasks, (0,), replay))
    endings: Counter[int] = Counter()
    expected = _verdicts(tmp_path / "undisturbed")
    for number in range(8):
        folder = tmp_path / str(number)
        # Kill 25 processes, some of them while a second one uses the folder; then let one finish.
        for _ in range(25):
            processes = [_forked(folder, tasks, replay, generator.random()) for _ in range(generator.randint(1, 2))]
            time.sleep(generator.uniform(0.0, 0.05))
            for process in processes:
                os.kill(process, signal.SIGKILL)
            endings.update(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes)
        last = os.waitstatus_to_exitcode(os.waitpid(_forked(folder, tasks, replay, number), 0)[1])
        assert last == 0
        assert _verdicts(folder) == expected
        assert len(read_run(folder).submissions) == len(ANSWERS)
    # Most were killed at work, and some were refused beside another.
    assert endings[-signal.SIGKILL] > 100
    assert endings[4] > 0
    assert set(endings) <= {-signal.SIGKILL, 0, 4}


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="NOT TESTED: no bubblewrap to make a small disk with")
def test_on_a_disk_that_becomes_full_what_was_graded_stays_and_the_rest_is_graded_later(toy_suite, tmp_path):
    answers, kept, small = tmp_path / "answers.jsonl", tmp_path / "kept", tmp_path / "small"
    many = [item.model_copy(update={"system": f"again {number}"}) for number in range(3) for item in ANSWERS]
    answers.write_text("".join(item.model_dump_json() + "\n" for item in many))
    small.mkdir()
    grade = [sys.executable, "-m", "lmrbench", "grade", answers, "--suite", toy_suite, "--sandbox", "process", "--out"]
    script = '"$@"; code=$?; cp -r "$KEPT_FROM" "$KEPT_IN"; exit $code'
    disk = ["bwrap", "--dev-bind", "/", "/", "--size", "20480", "--tmpfs", small]
    disk += ["--setenv", "KEPT_FROM", small / "run", "--setenv", "KEPT_IN", kept]
    command = [*disk, "--", "/bin/sh", "-c", script, "sh", *grade, small / "run"]
    full = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert full.returncode == 2, full.stderr
    assert full.stderr.splitlines()[-1] == f"lmrbench: {small}/run/grades.jsonl: No space left on device"
    graded = (kept / "grades.jsonl").read_bytes().splitlines()

    assert subprocess.run(list(map(str, [*grade, kept])), cwd=tmp_path, capture_output=True).returncode == 0
    after = (kept / "grades.jsonl").read_bytes().splitlines()
    assert 0 < len(graded) < len(many) == len(after)
    # The last line was cut short; the others are as they were.
    assert after[: len(graded) - 1] == graded[:-1]
