"""The sandbox back ends to test: those that are registered, and docker if there is a base image for it."""

import os

import pytest

from lmrbench.sandbox.registry import sandbox_names

# `make docker-base` makes a base image, and prints how to name it.
DOCKER = pytest.param(
    "docker",
    marks=[
        pytest.mark.docker,
        pytest.mark.skipif(
            not os.environ.get("LMRBENCH_BASE_IMAGE"),
            reason="NOT TESTED: no base image for Docker; see make docker-base",
        ),
    ],
)

# A back end of another package that is to be tested too, whether it is installed by an entry point or not.
FOREIGN = os.environ.get("LMRBENCH_TEST_SANDBOX")
BACK_ENDS = [
    DOCKER if name == "docker" else name for name in dict.fromkeys([*sandbox_names(), *([FOREIGN] if FOREIGN else [])])
]
