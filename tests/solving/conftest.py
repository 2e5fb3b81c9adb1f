"""What the tests of solving need around them."""

import pytest

from lmrbench.grading.grader import Grader
from lmrbench.solving import scoring


@pytest.fixture(autouse=True)
def no_worker_outlives_its_test(monkeypatch):
    """An evaluation keeps its workers until the process ends, and this process runs other tests, which count theirs."""
    graders = []

    def watched_grader(*arguments):
        graders.append(Grader(*arguments))
        return graders[-1]

    monkeypatch.setattr(scoring, "Grader", watched_grader)
    yield
    for grader in graders:
        grader.close()
