"""Back ends of other packages, and workers on another host."""

import os
import socket
import threading
from importlib.metadata import EntryPoint, EntryPoints
from multiprocessing.connection import Client, Listener

import pytest
from tests import toy
from tests.graded import graded

from lmrbench.errors import SandboxError
from lmrbench.grading.grader import Grader
from lmrbench.sandbox import registry
from lmrbench.sandbox.protocol import DEFAULT_SANDBOX, Outcome, Sandbox
from lmrbench.tasks.loading import load_suite
from lmrbench.tasks.submission import Submission

SECRET = b"for the test alone"


class RemoteWorker:
    """Speaks a toy protocol with another host: a job goes there, an outcome comes back."""

    def __init__(self, address, imports):
        self.alive, self.killed = True, False
        self.connection = Client(address, authkey=SECRET)
        self.connection.send(imports)

    def run(self, job):
        try:
            self.connection.send(job)
            return self.connection.recv()
        except (EOFError, OSError) as error:
            self.alive = False
            if self.killed:
                return Outcome(broken="it was killed", lost=True)
            raise SandboxError("the host is gone") from error

    def kill(self):
        self.killed = True
        # Unlike closing it, this wakes whoever waits for an answer.
        with socket.socket(fileno=os.dup(self.connection.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.alive = False
        self.connection.close()


class RemoteSandbox(Sandbox):
    name = "remote"
    advice = "start the host"
    address = None

    def __init__(self, secrets):
        self.secrets = secrets

    def start(self, imports, tree=None, environment=None):
        return RemoteWorker(self.address, imports)


@pytest.fixture
def host(monkeypatch):
    """Another host, which runs what it is sent as this machine would."""
    with Listener(("127.0.0.1", 0), authkey=SECRET) as listener:
        monkeypatch.setattr(RemoteSandbox, "address", listener.address)

        def serve():
            while True:
                try:
                    connection = listener.accept()
                except OSError:
                    return
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

        def answer(connection):
            worker = registry.make_sandbox("process", ()).start(connection.recv())
            try:
                while True:
                    connection.send(worker.run(connection.recv()))
            except (EOFError, OSError):
                worker.close()

        threading.Thread(target=serve, daemon=True).start()
        yield listener


@pytest.fixture
def installed(monkeypatch):
    """As if packages with these back ends were installed."""
    points = [
        EntryPoint("remote", f"{__name__}:RemoteSandbox", registry.GROUP),
        EntryPoint("broken", "no_such_package:Sandbox", registry.GROUP),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda **wanted: EntryPoints(points).select(**wanted))
    monkeypatch.setattr(EntryPoint, "load", lambda self: _load(self))


def _load(point):
    if point.name == "remote":
        return RemoteSandbox
    raise ModuleNotFoundError("no_such_package")


@pytest.mark.sandbox
def test_a_back_end_of_another_package_on_another_host_grades_as_the_others_do(installed, host, toy_suite):
    tasks = {task.id: task for task in load_suite(toy_suite)}
    right = tasks["toy/blend"].files.repository["blending.py"].decode()
    submissions = [
        Submission(system=name, task="toy/blend", code=code)
        for name, code in (("right", right), ("wrong", right.replace("return", "return 2 *")))
    ]
    *own, broken, remote = registry.sandbox_names()
    assert (broken, remote) == ("broken", "remote")
    assert set(registry.PREFERRED) < set(own)
    with registry.open_pool("remote", [toy_suite], workers=1) as pool:
        grades = {item.system: item for item in graded(submissions, tasks, (1,), pool)}
    assert grades["right"].correct
    assert not grades["wrong"].correct
    assert grades["right"].sandbox == "remote"


def test_a_back_end_that_cannot_be_loaded_is_named(installed):
    with pytest.raises(SandboxError, match="'broken' from no_such_package:Sandbox can't be loaded"):
        registry.make_sandbox("broken", ())


@pytest.fixture
def machine(monkeypatch):
    """Say which back ends start on this machine."""

    class Fake(Sandbox):
        advice = ""

        def __init__(self, name):
            self.name = name

        def start(self, imports, tree=None, environment=None):
            if self.name not in working:
                raise SandboxError(f"{self.name} is missing")
            return self

        def close(self):
            pass

    def works(*names):
        working.update(names)

    working = set()
    preferred = ("bubblewrap", "landlock", "docker")
    fakes = {name: lambda secrets, name=name: Fake(name) for name in (*preferred, "process")}
    monkeypatch.setattr(registry, "_OWN", fakes)
    monkeypatch.setattr(registry, "PREFERRED", preferred)
    registry.first_that_works.cache_clear()
    yield works
    registry.first_that_works.cache_clear()


@pytest.mark.parametrize(
    ("works", "taken", "said"),
    [
        (("docker", "landlock", "bubblewrap"), "bubblewrap", ""),
        (
            ("docker", "landlock"),
            "landlock",
            "lmrbench: using sandbox landlock; not available: bubblewrap: bubblewrap is missing\n",
        ),
        (
            ("docker",),
            "docker",
            "sandbox docker; not available: bubblewrap: bubblewrap is missing; landlock: landlock is missing\n",
        ),
    ],
)
def test_auto_takes_the_first_back_end_that_works_and_says_which(machine, works, taken, said, capsys):
    machine(*works)
    assert [registry.make_sandbox(DEFAULT_SANDBOX, ()).name for _ in range(2)] == [taken, taken]
    assert capsys.readouterr().err.endswith(said)
    assert Grader(toy.FOLDER).sandbox == taken


def test_auto_never_takes_process_and_says_of_each_back_end_why_it_does_not_work(machine):
    machine("process")
    with pytest.raises(SandboxError) as none:
        registry.make_sandbox(DEFAULT_SANDBOX, ())
    assert str(none.value).splitlines()[1:] == [f"{name}: {name} is missing" for name in registry.PREFERRED]


def test_a_back_end_that_is_named_is_taken_whether_it_works_or_not(machine):
    machine("bubblewrap")
    assert registry.sandbox_name("docker") == "docker"
    assert registry.make_sandbox("docker", ()).name == "docker"
