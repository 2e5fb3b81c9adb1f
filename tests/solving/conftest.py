"""Fixtures of the tests of solving."""

import pytest
from tests import toy
from tests.solving.helpers import IN_TWO_FILES, SLUGS

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


@pytest.fixture(scope="session")
def papers(tmp_path_factory):
    """A suite of papers whose checks take no time, one for each of `SLUGS`; the second has another category."""
    suite = toy.copy_to(tmp_path_factory.mktemp("papers") / "suite")
    (suite / "suite.toml").write_text('name = "papers"\nversion = "7.5"\n')
    for slug in SLUGS[1:]:
        toy.add_paper(suite, slug)
    for slug, old, new in (
        (SLUGS[1], "evaluation_metrics", "interpretability"),
        (IN_TWO_FILES, 'Both.blend"]', 'Both.blend", "weighting.py::weights"]'),
        (IN_TWO_FILES, 'context = ["weighting.py"]\n', ""),
    ):
        table = suite / slug / "task.toml"
        assert old in table.read_text()
        table.write_text(table.read_text().replace(old, new))
    return suite
