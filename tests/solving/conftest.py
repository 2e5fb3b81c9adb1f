"""Fixtures of the tests of solving."""

import pytest

from lmrbench.grading.grader import Grader
from lmrbench.solving import scoring


@pytest.fixture(autouse=True)
def no_worker_outlives_its_test(monkeypatch):
    """Close the graders of evaluations, which keep their workers until the process ends; other tests count workers."""
    graders = []

    def watched_grader(*arguments):
        graders.append(Grader(*arguments))
        return graders[-1]

    monkeypatch.setattr(scoring, "Grader", watched_grader)
    yield
    for grader in graders:
        grader.close()
