"""A Ray cluster grades as one machine does, and the jobs of a lost node run again once."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from tests.drawn import job_of

from lmrbench.errors import SandboxError
from lmrbench.sandbox.inside.encoding import decode
from lmrbench.sandbox.registry import make_sandbox

ray = pytest.importorskip("ray", reason="NOT TESTED: ray is not installed")

from ray.cluster_utils import Cluster  # noqa: E402

from lmrbench.sandbox.cluster import ClusterPool  # noqa: E402

pytestmark = pytest.mark.sandbox

CHECK = """
import time

def cases(seed):
    yield {"name": "a second", "seed": seed}

def observe(case):
    from answer import answer
    time.sleep(1.0)
    return answer(case["seed"])
"""


def job(seed, owner="someone"):
    return job_of({"answer.py": b"def answer(seed): return seed * 10"}, CHECK, seed, owner, check_seconds=60.0)


@pytest.fixture(scope="module")
def head():
    """A cluster whose only node runs nothing."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    yield cluster
    cluster.shutdown()


@pytest.fixture
def cluster(head):
    """A cluster, whose further nodes are those that a test adds."""
    yield head
    ray.shutdown()
    for node in tuple(head.worker_nodes):
        head.remove_node(node)


def grades(folder):
    lines = [json.loads(line) for line in (folder / "grades.jsonl").read_text().splitlines()]
    for grade in lines:
        for item in (grade, *grade["cases"]):
            item.pop("seconds")
        grade.pop("peak_mb")
        # It signs the times, too.
        grade.pop("signature")
    return sorted(lines, key=lambda grade: (grade["system"], grade["task"], grade["sample"]))


def test_the_records_are_those_of_a_local_run(toy_suite, tmp_path):
    for executor in ("local", "ray"):
        command = [sys.executable, "-m", "lmrbench", "grade", "--golden", "--mask", "--rewrites", "--wrong"]
        command += ["--suite", toy_suite, "--seed", "3", "--executor", executor, "--out", tmp_path / executor]
        result = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
    assert grades(tmp_path / "ray") == grades(tmp_path / "local")


def test_a_lost_node_loses_nothing_and_doubles_nothing(cluster):
    first, second = (cluster.add_node(num_cpus=1) for _ in range(2))
    jobs = [job(seed) for seed in range(12)]
    found = {}
    with ClusterPool(make_sandbox("process", ()), (), address=cluster.address) as pool:
        for number, outcome in pool.run(jobs):
            assert number not in found
            found[number] = decode(outcome.cases[0].payload)
            if len(found) == 3:
                cluster.remove_node(second, allow_graceful=False)
    assert first in cluster.list_all_nodes()
    assert found == {number: number * 10 for number in range(12)}


def test_jobs_of_two_owners_never_run_at_the_same_time_where_that_is_asked_for(cluster):
    cluster.add_node(num_cpus=2)
    jobs = [job(seed, owner=f"system {seed % 2}") for seed in range(4)]
    with ClusterPool(make_sandbox("process", ()), (), isolate=True, address=cluster.address) as pool:
        ended = [number % 2 for number, _ in pool.run(jobs)]
    assert ended == [0, 0, 1, 1]


def test_what_a_node_lacks_is_named(cluster, tmp_path):
    cluster.add_node(num_cpus=1)
    with ClusterPool(make_sandbox("process", ()), (), address=cluster.address) as pool:
        lacking = replace(job(0), environment=tmp_path / "nowhere")
        with pytest.raises(SandboxError, match=r"nowhere is missing; run lmrbench setup env build on every node"):
            list(pool.run([lacking]))


def test_an_address_without_a_cluster_is_named(toy_suite, tmp_path):
    command = [sys.executable, "-m", "lmrbench", "grade", "--golden", "--suite", toy_suite, "--executor", "ray"]
    command += ["--address", "127.0.0.1:1", "--out", tmp_path / "run"]
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert result.returncode == 3
    assert result.stderr.strip().startswith("lmrbench: no Ray cluster at 127.0.0.1:1")
