"""Back ends of other packages, and workers on another host."""

import os
import socket
import threading
from importlib.metadata import EntryPoint, EntryPoints
from multiprocessing.connection import Client, Listener

import pytest
from tests.graded import graded

from lmrbench.errors import SandboxError
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
    assert DEFAULT_SANDBOX in own
    with registry.open_pool("remote", [toy_suite], workers=1) as pool:
        grades = {item.system: item for item in graded(submissions, tasks, (1,), pool)}
    assert grades["right"].correct
    assert not grades["wrong"].correct
    assert grades["right"].sandbox == "remote"


def test_a_back_end_that_cannot_be_loaded_is_named(installed):
    with pytest.raises(SandboxError, match="'broken' of no_such_package:Sandbox can't be loaded"):
        registry.make_sandbox("broken", ())
