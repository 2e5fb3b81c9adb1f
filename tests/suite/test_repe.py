"""repe: the golden against directions worked out by hand, and what the paper says of reading by differences."""

import math

import pytest
from tests.suite.repository import facts_of

FACTS = """
import json
import numpy as np
from repe.rep_readers import PCARepReader
from experiment import run

facts = {}
square = np.array([[5.0, 1.0], [1.0, 1.0], [3.0, 2.0], [3.0, 0.0]])
reader = PCARepReader(n_components=2)
facts["square"] = np.abs(reader.get_rep_directions(None, None, {7: square}, [7])[7]).tolist()
facts["mean"] = reader.H_train_means[7].tolist()
line = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
facts["line"] = np.abs(PCARepReader().get_rep_directions(None, None, {0: line}, [0])[0]).tolist()
rows = np.random.default_rng(0).normal(size=(50, 5)) * [5, 4, 3, 2, 1]
found = PCARepReader(n_components=5).get_rep_directions(None, None, {0: rows}, [0])[0]
facts["orthonormal"] = np.abs(found @ found.T - np.eye(5)).max()
facts["variances"] = (rows @ found.T).var(axis=0).tolist()
facts["total"] = rows.var(axis=0).sum()
facts["experiments"] = [run(seed) for seed in range(6)]
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def facts():
    return facts_of("repe", FACTS)


def test_a_cross_by_hand(facts):
    # Longer along the first axis than along the second.
    assert facts["square"][0] == pytest.approx([1, 0], abs=1e-12)
    assert facts["square"][1] == pytest.approx([0, 1], abs=1e-12)
    assert facts["mean"] == [[3.0, 1.0]]


def test_points_on_a_line(facts):
    assert facts["line"][0] == pytest.approx([3 / 5, 4 / 5])


def test_directions_are_orthonormal_and_in_the_order_of_the_variance(facts):
    assert facts["orthonormal"] < 1e-12
    assert facts["variances"] == sorted(facts["variances"], reverse=True)
    assert math.isclose(sum(facts["variances"]), facts["total"])


def test_an_unsupervised_direction_reads_the_concept(facts):
    for metrics in facts["experiments"]:
        assert metrics["rates"]["pca/accuracy"] > 0.9
