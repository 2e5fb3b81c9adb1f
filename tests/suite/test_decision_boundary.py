"""decision_boundary: the golden against geometry and a division worked out by hand, and the paper's findings."""

import numpy as np
import pytest
from tests.suite.repository import facts_of

FACTS = """
import json
import numpy as np
from config import NOISE
from data_utils import generate_tasks, split_task
from experiment import run
from generators import TaskSpec, draw_points
from prompts import format_point
from sampling import draw_order

facts = {}
kinds = {"linear": 5, "circle": 2, "moon": 2}
facts["ends"] = [
    [float(end) for end in (X.min(axis=1).min(), X.min(axis=1).max(), X.max(axis=1).min(), X.max(axis=1).max())]
    for kind, d in kinds.items() for X, _ in [generate_tasks(4, 50, d, 3, kind, 0.5, 1.0)]
]
facts["alone"] = [generate_tasks(2, 1, d, 3, kind, 0.5, 1.0)[0].ravel().tolist() for kind, d in kinds.items()]
facts["labels"] = [generate_tasks(2, 51, d, 3, kind, 0.5, 1.0)[1].sum(axis=1).tolist() for kind, d in kinds.items()]
raw, labels = draw_points(TaskSpec("linear", 4000, 3, 7, 0.5, 20.0, 0.0))
facts["corners"] = [np.abs(raw[labels == label].mean(axis=0)).tolist() for label in (0, 1)]
NOISE["circle"] = NOISE["moon"] = 0.0
X, Y = generate_tasks(1, 400, 2, 5, "circle", 0.3, 1.0)
facts["radii"] = [np.linalg.norm(X[0][Y[0] == label] - 50.0, axis=1).tolist() for label in (0, 1)]
X, Y = generate_tasks(1, 402, 2, 5, "moon", 0.3, 1.0)
facts["moons"] = [[X[0][Y[0] == label].tolist() for label in (0, 1)]]
NOISE.update(circle=0.05, moon=0.1)

points = np.array([[1, 23], [9, 9], [1.4, 22.6], [12, 3], [5, 5], [5.2, 4.9], [7, 7], [8, 8]])
facts["order"] = draw_order(8, 0).tolist()
facts["by hand"] = [
    [part.tolist() for part in split_task(points, np.array(labels), size, queries, 0)]
    for labels, size, queries in (
        ([0, 1, 0, 1, 0, 1, 0, 1], 4, 1), ([0, 1, 0, 1, 0, 1, 0, 1], 2, 3), ([2, 2, 2, 2, 2, 2, 2, 9], 2, 0),
    )
]
X, Y = generate_tasks(1, 500, 2, 11, "circle", 0.8, 1.0)
divided = [[part.tolist() for part in split_task(X[0], Y[0], size, 100, 4)] for size in (8, 32, 128)]
facts["divided"] = divided
facts["texts"] = [[format_point(X[0][point]) for point in part] for part in divided[-1]]
facts["classes"] = [Y[0][examples].tolist() for examples, _ in divided]
facts["experiments"] = [run(seed) for seed in range(3)]
print(json.dumps(facts))
"""

# The points in the order drawn, with their texts: 2 "1 23", 4 "5 5", 3 "12 3", 6 "7 7", 5 "5 5", 0 "1 23", 1 "9 9",
# 7 "8 8".
ORDER = [2, 4, 3, 6, 5, 0, 1, 7]
BY_HAND = [[[4, 3, 6, 1], [2]], [[6, 1], [2, 4, 3]], [[2, 7], []]]


@pytest.fixture(scope="module")
def facts():
    return facts_of("decision_boundary", FACTS)


def test_each_dimension_of_each_task_covers_the_range_and_a_lone_point_lies_in_its_middle(facts):
    assert facts["ends"] == [[0, 0, 100, 100]] * 3
    assert all(value == 50 for values in facts["alone"] for value in values)
    assert facts["labels"] == [[26, 26]] * 3


def test_without_noise_circles_and_moons_have_the_paper_s_shapes(facts):
    outer, inner = facts["radii"]
    assert outer == pytest.approx([50] * 200, abs=1e-4)
    assert inner == pytest.approx([15] * 200, abs=1e-4)
    # The moons span -1 to 2 and -0.5 to 1 before they are scaled.
    ((upper, lower),) = facts["moons"]
    for points, middle, side in ((upper, (0, 0), 1), (lower, (1, 0.5), -1)):
        plain = np.array(points) / 100 * [3, 1.5] - [1, 0.5] - middle
        assert np.linalg.norm(plain, axis=1) == pytest.approx(np.ones(201), abs=1e-5)
        assert (side * plain[:, 1] > -1e-5).all()


def test_linear_clusters_lie_on_corners_of_a_hypercube(facts):
    for corner in facts["corners"]:
        assert corner == pytest.approx([20] * 3, abs=0.3)


def test_divisions_by_hand(facts):
    assert facts["order"] == ORDER
    assert facts["by hand"] == BY_HAND


def test_examples_are_balanced_nested_and_read_otherwise_than_every_query(facts):
    (few, queries), (some, same), (many, also) = facts["divided"]
    assert queries == same == also
    assert len(queries) == 100
    assert [point for point in some if point in few] == few
    assert [point for point in many if point in some] == some
    assert [sum(labels) for labels in facts["classes"]] == [4, 16, 64]
    examples, asked = facts["texts"]
    assert len(set(examples)) == 128
    assert not set(examples) & set(asked)


def test_more_examples_help_accuracy_and_leave_the_boundary_rough(facts):
    for metrics in facts["experiments"]:
        for kind in ("linear", "circle", "moon"):
            assert metrics[f"attention, {kind}, 128: accuracy"] > metrics[f"attention, {kind}, 8: accuracy"]
        rough = metrics["attention, linear, 128: roughness"]
        assert rough > 1.3 * metrics["logistic, linear, 128: roughness"]
        assert rough > 0.5 * metrics["attention, linear, 8: roughness"]
        assert metrics["attention, linear, 128: fragments"] > metrics["logistic, linear, 128: fragments"] == 2
        assert metrics["order sensitivity"] > 0


def test_early_layers_and_active_sampling_smooth_and_help_as_the_head_does_not(facts):
    mean = {name: np.mean([metrics[name] for metrics in facts["experiments"]]) for name in facts["experiments"][0]}
    before, head, embedding = (
        mean[f"{name}, linear, 128: roughness"] for name in ("attention", "finetuned head", "finetuned embedding")
    )
    assert embedding < 0.8 * before
    assert head > 0.85 * before
    assert mean["active sampling: accuracy"] > mean["random sampling: accuracy"]
