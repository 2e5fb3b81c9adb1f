"""Is there a Docker Engine for tests, with a base image? `make docker-base` makes one, and says how to name it."""

import os

import pytest

# A back end among the parameters of a test.
DOCKER = pytest.param(
    "docker",
    marks=pytest.mark.skipif(
        not os.environ.get("LMRBENCH_BASE_IMAGE"), reason="NOT TESTED: no base image for Docker; see make docker-base"
    ),
)
