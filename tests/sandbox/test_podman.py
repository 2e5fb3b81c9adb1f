"""Differences between podman and Docker."""

from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace

import pytest
from docker.errors import NotFound
from docker.types import HostConfig

from lmrbench.errors import SandboxError
from lmrbench.sandbox.backends.docker import ContainerBounds, _create
from lmrbench.sandbox.backends.images import LABEL, images
from lmrbench.tasks.model import Limits


class Podman:
    """An old version's answer."""

    def update_container(self, *_, **__):
        raise NotFound("there is no such call")


@pytest.mark.parametrize(("megabytes", "enough"), [(1024, True), (8192, False)])
def test_a_job_that_needs_more_than_it_can_have_is_the_machines_fault(megabytes, enough):
    bounds = ContainerBounds(Podman(), "container")

    with nullcontext() if enough else pytest.raises(SandboxError, match="MB"):
        bounds.bound(Limits(memory_mb=megabytes), 0)


class Images:
    """What podman lists: the label is ours, the name is not."""

    def list(self, **_):
        item = SimpleNamespace(
            labels={LABEL: '{"base": "slim", "packages": {}}'}, tags=["docker.io/library/lmrbench-worker:1"]
        )
        item.attrs = {"Created": "2026-01-01T00:00:00.5Z", "Size": 1}
        return [item]


def test_images_are_found_under_the_names_that_podman_gives_them():
    assert [item.tag for item in images(SimpleNamespace(images=Images()))] == ["lmrbench-worker:1"]


@pytest.mark.parametrize("name", ["Podman Engine", "Engine"])
def test_only_podman_is_told_what_to_mask_by_a_security_option(name):
    found = {}

    def create_container(*_, host_config, **__):
        found.update(host_config)
        return {"Id": "made"}

    api = SimpleNamespace(create_host_config=partial(HostConfig, version="1.41"), create_container=create_container)
    client = SimpleNamespace(api=api, version=lambda: {"Components": [{"Name": name}]})
    _create(client, "image", None, None)

    told = [set(item.removeprefix("mask=").split(":")) for item in found["SecurityOpt"] if item.startswith("mask=")]
    assert {"/sys", "/proc/stat"} < set(found["MaskedPaths"])
    assert told == ([set(found["MaskedPaths"])] if name == "Podman Engine" else [])
