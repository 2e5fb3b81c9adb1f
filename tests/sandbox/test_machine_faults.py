"""Faults of the machine never become verdicts."""

import subprocess
import sys
from dataclasses import replace

import pytest
from tests.drawn import job_of

from lmrbench.errors import SandboxError
from lmrbench.sandbox.pool import LocalPool
from lmrbench.sandbox.probe import probe
from lmrbench.sandbox.protocol import CaseOutcome, Outcome, Sandbox
from lmrbench.sandbox.registry import make_sandbox

pytestmark = pytest.mark.sandbox

CHECK = """
def cases(seed):
    for number in range(3):
        yield {"name": str(number), "number": number}

def observe(case):
    from answer import answer
    return answer(case["number"])
"""
RIGHT = b"def answer(number): return number"


def job(code=RIGHT, **others):
    return job_of({"answer.py": code}, CHECK, **others)


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("-n 200", "200 open files (ulimit -n), and the task needs 256"),
        ("-f 200000", "bytes a file (ulimit -f, in kilobytes), and the task needs"),
        ("-v 1900000", "bytes of memory (ulimit -v, in kilobytes), and the task needs"),
        ("-t 20", "20 seconds of processor time (ulimit -t), and the task needs"),
    ],
)
def test_a_hard_limit_below_the_tasks_scores_nothing_and_is_named(suite, tmp_path, limit, words):
    task = suite / "toy" / "task.toml"
    task.write_text(task.read_text().replace("memory_mb = 256", "memory_mb = 2048"))
    command = f"ulimit {limit}; exec {sys.executable} -m lmrbench grade --golden --suite {suite} --workers 1"
    result = subprocess.run(
        ["bash", "-c", f"{command} --out {tmp_path}/run"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 3, result.stdout + result.stderr
    assert words in result.stderr
    assert not (tmp_path / "run" / "grades.jsonl").exists()


class FaultyWorker:
    """Answers with outcomes that were prepared, one after the other."""

    alive = True

    def __init__(self, outcomes):
        self.outcomes = outcomes

    def run(self, job):
        return self.outcomes.pop(0)

    def kill(self):
        pass

    close = kill


class FaultySandbox(Sandbox):
    name, advice = "faulty", ""

    def __init__(self, *workers):
        self.workers = [FaultyWorker(list(outcomes)) for outcomes in workers]

    def start(self, imports, tree=None, environment=None):
        return self.workers.pop(0)


WELL = Outcome((CaseOutcome("observed"),))
MISSING = (CaseOutcome("missing"),) * 3
KILLED = Outcome((CaseOutcome("died", message="the process was killed by SIGKILL"), *MISSING[1:]))
PASSES = Outcome((CaseOutcome("observed"),) * 3)
DEAD = Outcome((CaseOutcome("died", message="the process was killed by SIGKILL"),))
FAULT = Outcome(MISSING, fault="no space left on device")


def outcome_of(*workers):
    with LocalPool(FaultySandbox(*workers), size=1) as pool:
        ((_, outcome),) = pool.run([job()])
    return outcome


def test_a_worker_whose_probe_fails_meets_no_candidate():
    with pytest.raises(SandboxError, match=r"trivial check fails on this machine, .*: no space left"):
        outcome_of([FAULT])


def test_a_fault_before_the_candidate_ran_is_tried_in_another_worker():
    assert outcome_of([WELL, FAULT], [WELL, PASSES]) == PASSES


def test_a_death_before_any_observation_is_the_machines_where_the_probe_dies_too():
    with pytest.raises(SandboxError, match="killed by SIGKILL"):
        outcome_of([WELL, KILLED, DEAD], [WELL, DEAD])


def test_a_candidate_that_spoils_its_own_worker_has_not_spoilt_the_machine():
    crashed = Outcome(
        (CaseOutcome("died", message="the process ended with exit code 1 before it reported"), *MISSING[1:])
    )
    assert outcome_of([WELL, crashed, DEAD], [WELL, WELL]) == crashed


def test_what_something_outside_kills_is_run_again_before_it_counts():
    assert outcome_of([WELL, KILLED, WELL, PASSES]).cases == PASSES.cases


def test_what_is_killed_twice_is_the_candidates():
    outcome = outcome_of([WELL, KILLED, WELL, KILLED, WELL])
    assert [case.status for case in outcome.cases] == ["died", "missing", "missing"]


def test_a_case_that_timed_out_counts_as_its_second_run():
    late = (CaseOutcome("observed"), CaseOutcome("timeout", message="took more than 5 s"), CaseOutcome("missing"))
    again = Outcome((CaseOutcome("observed"), CaseOutcome("raised", message="KeyError")))
    outcome = outcome_of([WELL, Outcome(late), again])
    assert [case.status for case in outcome.cases] == ["observed", "observed", "raised"]


def test_a_second_run_ends_with_the_first_case_that_times_out_again():
    code = b"def answer(number):\n    while number: pass\n    return number"
    with LocalPool(make_sandbox("process", ()), size=1) as pool:
        ((_, outcome),) = pool.run([job(code, case_seconds=[1.0] * 3)])
    assert [case.status for case in outcome.cases] == ["observed", "timeout", "timeout"]
    # Two seconds in the first run, and one in the second.
    assert 2.5 < outcome.processor_seconds < 3.9


@pytest.mark.parametrize("error", [ValueError("not a number"), RecursionError(), KeyError("lost")])
def test_an_error_that_one_job_raises_in_the_harness_costs_no_other(error, monkeypatch):
    class Raising(FaultyWorker):
        def run(self, job):
            if job.owner == "odd":
                raise error
            return super().run(job)

    sandbox = FaultySandbox()
    sandbox.workers = [Raising([WELL, PASSES, PASSES])]
    with LocalPool(sandbox, size=1, shared=True) as pool:
        outcomes = dict(pool.run([job(), replace(job(), owner="odd"), job()]))
    assert (outcomes[0], outcomes[2]) == (PASSES, PASSES)
    assert f"the harness failed on this job: {type(error).__name__}" in str(outcomes[1].broken)


def test_the_probe_passes_in_a_worker_of_this_machine():
    worker = make_sandbox("bubblewrap", ()).start(())
    try:
        probe(worker, job())
        least = job().limits.model_copy(update={"memory_mb": 16, "disk_mb": 1, "open_files": 64, "processes": 4})
        probe(worker, replace(job(), limits=least), memory_mb=1 << 20)
    finally:
        worker.close()
