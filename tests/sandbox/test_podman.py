"""Old versions of podman can't change the memory of a container that runs."""

from contextlib import nullcontext

import pytest
from docker.errors import NotFound

from lmrbench.errors import SandboxError
from lmrbench.sandbox.docker import ContainerBounds
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
