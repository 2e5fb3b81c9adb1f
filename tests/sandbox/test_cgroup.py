"""Control groups of workers: where they are created, and what they limit. Plain files replace the kernel's."""

import pytest
from tests.drawn import job_of

from lmrbench.sandbox import cgroup
from lmrbench.sandbox.cgroup import ControlGroup, new_group
from lmrbench.sandbox.registry import make_sandbox
from lmrbench.tasks.model import Limits

PIPES = b"""
import os, signal

def fill():
    kept = []
    try:
        while True:
            kept.append(os.pipe())
            os.set_blocking(kept[-1][1], False)
            os.write(kept[-1][1], bytes(1 << 16))
    except OSError:
        os.kill(os.getpid(), signal.SIGSTOP)

def answer():
    children = []
    for _ in range(24):
        children.append(os.fork())
        if children[-1] == 0:
            fill()
            os._exit(0)
    for pid in children:
        os.waitpid(pid, os.WUNTRACED)
"""
CHECK = "def cases(seed): return [0]\ndef observe(case):\n    import answer\n    return answer.answer()\n"


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The group of this process, in one that hands on memory and processes."""
    own = tmp_path / "user.slice" / "session.scope"
    own.mkdir(parents=True)
    for folder, controllers in ((own.parent, "cpu memory pids"), (own, "")):
        (folder / "cgroup.subtree_control").write_text(controllers)
    (own / "memory.max").write_text("max\n")
    monkeypatch.setattr(cgroup, "_own", lambda: own)
    return own


def test_a_group_is_made_beside_our_own_where_that_escapes_no_bound(own):
    assert new_group().folder.parent == own.parent


def test_a_group_is_made_within_our_own_where_this_hands_on_what_it_has(own):
    (own / "cgroup.subtree_control").write_text("memory pids")
    assert new_group().folder.parent == own


@pytest.mark.parametrize(
    ("file", "text"),
    [("memory.max", "1000000"), ("../cgroup.subtree_control", "cpu memory")],
)
def test_no_group_is_made_where_it_would_escape_a_bound_or_bound_nothing(own, file, text):
    (own / file).write_text(text)
    assert new_group() is None
    assert not list(own.parent.glob("lmrbench-*"))


def test_groups_of_runs_that_were_killed_are_removed(own):
    left, in_use = own.parent / "lmrbench-999999999-0", own.parent / "lmrbench-1-0"
    left.mkdir()
    in_use.mkdir()
    new_group()
    assert (left.exists(), in_use.exists()) == (False, True)


def test_a_group_bounds_what_a_job_may_use_beyond_what_the_worker_holds(tmp_path):
    ControlGroup(tmp_path).bound(Limits(memory_mb=100, disk_mb=10, output_mb=1, processes=8), held=5 << 20)
    assert int((tmp_path / "memory.max").read_text()) == (5 + 100 + 10 + 1 + 64) << 20
    assert int((tmp_path / "pids.max").read_text()) == 8 + 16


@pytest.mark.sandbox
def test_memory_that_pipes_hold_is_the_candidates_where_there_are_cgroups():
    worker = make_sandbox("bubblewrap", ()).start(())
    try:
        if worker.connection.bounds is None:
            pytest.skip("this machine lets us make no cgroups")
        limits = Limits(memory_mb=32, disk_mb=8, output_mb=1)
        outcome = worker.run(job_of({"answer.py": PIPES}, CHECK, limits=limits, check_seconds=60))
        events = (worker.connection.bounds.folder / "memory.events").read_text().split()
        assert int(events[events.index("oom_kill") + 1]) > 0
        assert not outcome.lost
    finally:
        worker.close()
    assert not worker.connection.bounds.folder.exists()
