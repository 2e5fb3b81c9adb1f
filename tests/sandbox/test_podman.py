"""What podman does otherwise than Docker."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from docker.errors import NotFound

from lmrbench.errors import SandboxError
from lmrbench.sandbox.docker import ContainerBounds
from lmrbench.sandbox.images import LABEL, images
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
