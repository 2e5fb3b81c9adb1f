"""Workers that are forked from a template: they start with its packages, and share nothing with it or each other."""

import threading

import pytest
from tests.drawn import job_of

from lmrbench.errors import SandboxError
from lmrbench.sandbox.backends.bubblewrap import BubblewrapSandbox
from lmrbench.sandbox.connection import kill_with_children
from lmrbench.sandbox.inside.encoding import decode
from lmrbench.sandbox.pool import LocalPool
from lmrbench.sandbox.template import CannotForkError, Template
from lmrbench.tasks.model import Limits

pytestmark = pytest.mark.sandbox

CHECK = """
def cases(seed):
    yield {"name": "only"}

def observe(case):
    from answer import answer
    return answer()
"""


@pytest.fixture
def sandbox():
    sandbox = BubblewrapSandbox()
    yield sandbox
    sandbox.close()


@pytest.fixture
def starts(monkeypatch):
    """The templates that are started."""
    started = []

    class Counted(Template):
        def __init__(self, command, imports):
            super().__init__(command, imports)
            started.append(self)

    monkeypatch.setattr("lmrbench.sandbox.backends.bubblewrap.Template", Counted)
    return started


def answered(worker, code):
    (case,) = worker.run(job_of({"answer.py": code.encode()}, CHECK, 0, "someone", Limits(), 20.0)).cases
    return decode(case.payload) if case.status == "observed" else case.message


def test_systems_share_what_one_template_has_imported(sandbox, starts):
    code = "import sys\nloaded = 'scipy' in sys.modules\ndef answer(): return loaded"
    for _ in range(3):
        worker = sandbox.start(("scipy",))
        assert answered(worker, code) is True
        worker.close()
    without = sandbox.start(())
    assert answered(without, code) is False
    without.close()
    assert len(starts) == 2


def test_workers_of_one_template_see_nothing_of_each_other_or_of_it(sandbox):
    one, other = sandbox.start(()), sandbox.start(())
    leave = """
import socket, time
def answer():
    import numpy
    numpy.left_here = True
    for folder in ("/tmp", "/dev/shm"):
        with open(folder + "/left", "w") as file:
            file.write("here")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("\\0left")
    listener.listen()
    time.sleep(3)
    return "left"
"""
    look = """
import contextlib, os, socket
def answer():
    import numpy
    found = [name for name in ("/tmp/left", "/dev/shm/left") if os.path.exists(name)]
    found += ["module"] if hasattr(numpy, "left_here") else []
    with contextlib.suppress(OSError):
        socket.socket(socket.AF_UNIX).connect("\\0left")
        found.append("socket")
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            target = os.readlink("/proc/self/fd/" + name)
            found += [target] if target.startswith(("socket:", "anon_inode:[pidfd]")) else []
    processes = {int(name) for name in os.listdir("/proc") if name.isdigit()}
    return [found, len(processes - {1, os.getpid()})]
"""
    answers = []
    thread = threading.Thread(target=lambda: answers.append(answered(one, leave)))
    thread.start()
    seen = [answered(other, look) for _ in range(5)]
    fresh = sandbox.start(())
    seen.append(answered(fresh, look))
    thread.join()
    assert answers == ["left"]
    assert seen == [[[], 0]] * 6
    for worker in (one, other, fresh):
        worker.close()


def test_a_candidate_cannot_end_the_template(sandbox, starts):
    code = """
import os, signal
def answer():
    for number in (0, 1, os.getppid(), -1):
        try:
            os.kill(number, signal.SIGKILL) if number else os.killpg(os.getpgid(1), signal.SIGKILL)
        except OSError:
            pass
    return "alive"
"""
    worker = sandbox.start(())
    answered(worker, code)
    worker.close()
    again = sandbox.start(())
    assert answered(again, "def answer(): return 1") == 1
    again.close()
    assert len(starts) == 1


def test_a_template_that_was_killed_is_started_again(sandbox, starts):
    sandbox.start(()).close()
    kill_with_children(starts[0]._process)
    worker = sandbox.start(())
    assert answered(worker, "def answer(): return 1") == 1
    worker.close()
    assert len(starts) == 2


def test_without_nested_namespaces_each_worker_is_started_by_itself(sandbox, monkeypatch):
    def refused(*arguments):
        raise CannotForkError("unshare: Operation not permitted")

    monkeypatch.setattr(Template, "fork", refused)
    for _ in range(2):
        worker = sandbox.start(())
        assert answered(worker, "def answer(): return 1") == 1
        worker.close()


def test_a_worker_outlives_the_name_of_its_sandbox_and_a_closed_sandbox_leaves_no_process(starts):
    worker = BubblewrapSandbox().start(())
    assert answered(worker, "def answer(): return 1") == 1
    worker.close()
    with LocalPool(BubblewrapSandbox(), size=1) as pool:
        list(pool.run([job_of({"answer.py": b"def answer(): return 1"}, CHECK, 0, "someone", Limits(), 20.0)]))
        process = starts[-1]._process
        assert process.poll() is None
    assert process.poll() is not None


def test_a_template_whose_packages_cannot_be_imported_says_which(sandbox):
    with pytest.raises(SandboxError, match="no_such_package"):
        sandbox.start(("no_such_package",))


def test_templates_without_workers_end_where_there_are_many(sandbox, starts, monkeypatch):
    monkeypatch.setattr("lmrbench.sandbox.template._KEPT", 1)
    busy = sandbox.start(())
    for imports in (("scipy",), ("pandas",)):
        sandbox.start(imports).close()
    assert answered(busy, "def answer(): return 1") == 1
    assert [template._process.poll() is None for template in starts] == [True, False, True]
    busy.close()
