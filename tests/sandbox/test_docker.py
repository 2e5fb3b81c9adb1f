"""Images hold what tasks import, containers end with the process that started them, and errors are one line."""

import os
import subprocess
import sys
import time

import pytest
from tests.engine import DOCKER

from lmrbench.errors import SandboxError
from lmrbench.sandbox.backends import docker, images
from lmrbench.sandbox.registry import make_sandbox

pytestmark = pytest.mark.parametrize("engine", [DOCKER])
STARTS_A_WORKER = """
import time
from lmrbench.sandbox.registry import make_sandbox
print(make_sandbox("docker", ()).start(()).connection.container, flush=True)
time.sleep(600)
"""


def containers():
    found = images.connect().containers.list(all=True, filters={"label": "lmrbench.worker"})
    return {item.id for item in found}


def gone(container):
    end = time.monotonic() + 30
    while container in containers() and time.monotonic() < end:
        time.sleep(0.1)
    return container not in containers()


def test_a_container_ends_when_its_run_is_killed(engine):
    run = subprocess.Popen([sys.executable, "-c", STARTS_A_WORKER], stdout=subprocess.PIPE, text=True)
    container = run.stdout.readline().strip()
    assert container in containers()
    run.kill()
    run.communicate()
    assert gone(container)


def test_what_a_killed_run_has_left_is_removed_by_the_next_and_what_another_run_uses_is_not(engine):
    client = images.connect()
    tag = images.image_for(client, ())
    labels = {"lmrbench.worker": "1", "lmrbench.node": os.uname().nodename}
    dead, living = (
        client.containers.create(tag, labels=labels | {"lmrbench.process": process}).id
        for process in ("1 1 another start of the machine", docker._process(os.getpid()))
    )
    try:
        make_sandbox("docker", ()).start(()).close()
        assert gone(dead)
        assert living in containers()
    finally:
        client.api.remove_container(living, force=True)


def test_an_image_has_the_packages_that_are_asked_for_and_is_built_once(engine):
    client = images.connect()
    told: list[str] = []
    tag = images.image_for(client, ("numpy",), told=told.append)
    assert images.image_for(client, ("numpy",), told=told.append) == tag == images.tag_of(client, ("numpy",))
    assert len(told) <= 1
    (found,) = [item for item in images.images(client) if item.tag == tag]
    assert set(found.packages) == {"numpy", "safetensors"}


def test_a_base_image_that_is_nowhere_is_named_with_what_to_do(engine, monkeypatch):
    monkeypatch.setenv("LMRBENCH_BASE_IMAGE", "localhost:1/no-such-base")
    with pytest.raises(SandboxError, match=r"localhost:1/no-such-base can.t be pulled; name another with --base"):
        make_sandbox("docker", ()).start(())


def test_an_engine_that_cannot_be_reached_is_said(engine, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such/socket")
    with pytest.raises(SandboxError, match="the Docker Engine can't be reached"):
        make_sandbox("docker", ()).start(())
