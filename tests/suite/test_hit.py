"""hit: the golden against hyperbolic geometry worked out by hand, another model of it, and what the paper says."""

import math

import pytest
from tests.suite.repository import facts_of

FACTS = """
import json, torch
from torch import nn
from experiment import run
from src.hierarchy_transformers.datasets import things
from src.hierarchy_transformers.losses.hit_loss import HierarchyTransformerLoss
from src.hierarchy_transformers.models.encoder import EncoderConfig, build_encoder
from src.hierarchy_transformers.models.hyperbolic import PoincareBall

class Given(nn.Module):
    manifold = PoincareBall(0.25)

    def forward(self, features):
        return {"sentence_embedding": features["points"]}

def loss(columns, *settings):
    features = [{"points": torch.tensor(column, dtype=torch.float64)} for column in columns]
    results = HierarchyTransformerLoss(Given(), *settings)(features, torch.ones(len(columns[0])))
    return {name: value.item() for name, value in results.items()}

facts = {}
# On a line through the origin distances are differences of norms.
line = [[[1.0, 0.0], [0.5, 0.0]], [[0.5, 0.0], [-1.2, 0.0]], [[-0.5, 0.0], [0.8, 0.0]]]
facts["on_a_line"] = loss(line, 0.7, 1.5, 1.9, 0.4)
facts["far_margins"] = loss(line, 1.0, 100.0, 1.0, 100.0)
facts["in_order"] = loss([row[:1] for row in line], 0.7, 0.1, 1.9, 0.1)

generator = torch.Generator().manual_seed(3)
triplets = (2 * torch.rand(3, 5, 2, generator=generator, dtype=torch.float64) - 1).tolist()
facts["triplets"] = triplets
facts["in_the_plane"] = loss(triplets, 0.7, 1.1, 1.9, 0.3)

hierarchy = things()
words = tuple(sorted({word for name in hierarchy.entities for word in name.split()}))
model = build_encoder(EncoderConfig(words, dim=10), 0)
padded, alone = model.encode(["pager", "personal computer"]), model.encode(["pager"])
facts["padding"] = (padded[0] - alone[0]).abs().max().item()
facts["radius_squared"] = model.manifold.radius ** 2
facts["indirect"] = len(hierarchy.indirect())
facts["siblings"] = hierarchy.negatives("owl", hard=True)
facts["experiments"] = [run(seed) for seed in range(6)]
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def facts():
    return facts_of("hit", FACTS)


def norm(x):
    """Signed hyperbolic norm on a line, at curvature 1/4: the radius is 2."""
    return 2 * math.log((2 + x) / (2 - x))


def hyperboloid_distance(u, v):
    """Distance by the Minkowski product on the hyperboloid, at curvature 1/4, of points of the plane."""

    def lift(x):
        unit = [coordinate / 2 for coordinate in x]
        square = sum(coordinate**2 for coordinate in unit)
        return [(1 + square) / (1 - square), *(2 * coordinate / (1 - square) for coordinate in unit)]

    (u0, *u_rest), (v0, *v_rest) = lift(u), lift(v)
    return 2 * math.acosh(max(1.0, u0 * v0 - sum(a * b for a, b in zip(u_rest, v_rest, strict=True))))


def test_on_a_line_the_losses_are_those_worked_out_by_hand(facts):
    # The first triplet keeps both margins. The second breaks both: its parent is further away and further out.
    cluster = (norm(0.5) + norm(1.2)) - (norm(0.8) - norm(0.5)) + 1.5
    centri = norm(1.2) - norm(0.5) + 0.4
    results = facts["on_a_line"]
    assert norm(1.0) - norm(0.5) - (norm(1.0) + norm(0.5)) + 1.5 < 0
    assert results["cluster_loss"] == pytest.approx(cluster / 2)
    assert results["centri_loss"] == pytest.approx(centri / 2)
    assert results["loss"] == pytest.approx(0.7 * cluster / 2 + 1.9 * centri / 2)


def test_with_far_margins_the_losses_are_linear_in_them(facts):
    excess = (norm(1.0) - norm(0.5)) - (norm(1.0) + norm(0.5)) + (norm(0.5) + norm(1.2)) - (norm(0.8) - norm(0.5))
    assert facts["far_margins"]["cluster_loss"] == pytest.approx(100 + excess / 2)
    rise = norm(0.5) - norm(1.0) + norm(1.2) - norm(0.5)
    assert facts["far_margins"]["centri_loss"] == pytest.approx(100 + rise / 2)


def test_a_triplet_in_order_costs_nothing(facts):
    assert facts["in_order"] == {"loss": 0.0, "cluster_loss": 0.0, "centri_loss": 0.0}


def test_in_the_plane_the_hyperboloid_agrees(facts):
    cluster, centri = [], []
    for entity, parent, negative in zip(*facts["triplets"], strict=True):
        gap = hyperboloid_distance(entity, parent) - hyperboloid_distance(entity, negative)
        rise = hyperboloid_distance(parent, (0, 0)) - hyperboloid_distance(entity, (0, 0))
        cluster.append(max(gap + 1.1, 0))
        centri.append(max(rise + 0.3, 0))
    results = facts["in_the_plane"]
    assert results["cluster_loss"] == pytest.approx(sum(cluster) / 5)
    assert results["centri_loss"] == pytest.approx(sum(centri) / 5)
    assert results["loss"] == pytest.approx(0.7 * sum(cluster) / 5 + 1.9 * sum(centri) / 5)


def test_the_ball_circumscribes_the_cube_and_padding_does_not_count(facts):
    assert facts["radius_squared"] == pytest.approx(10)
    assert facts["padding"] < 1e-6


def test_the_hierarchy(facts):
    # Nine entities at depth 2 have one indirect ancestor, 27 at depth 3 have two.
    assert facts["indirect"] == 9 + 2 * 27
    assert facts["siblings"] == ["robin", "golden eagle"]


def test_the_experiment_shows_what_re_training_does(facts):
    # Over several seeds: the untrained encoder is anywhere, and on one seed the clustering loss alone comes close.
    results = {
        stage: {name: sum(run[stage][name] for run in facts["experiments"]) / 6 for name in values}
        for stage, values in facts["experiments"][0].items()
    }
    rates, training, evaluation = (results[stage] for stage in ("rates", "training", "evaluation"))
    assert rates["before/ranking"] < 0.6
    assert rates["hit/ranking"] > 0.9
    assert rates["hit/ranking"] > rates["clustering/ranking"] + 0.02
    assert rates["hit/ranking"] > rates["contrastive/ranking"] + 0.02
    for kind in ("random", "hard"):
        assert evaluation[f"hit/{kind}/parent"] > 2 > -2 > evaluation[f"hit/{kind}/negative"]
    assert evaluation["hit/depths"] > evaluation["clustering/depths"] + 0.05
    assert evaluation["hit/depths"] > evaluation["contrastive/depths"] + 0.05
    assert training["hit/centri_loss"] < 0.5 * training["clustering/centri_loss"]
    # It keeps related entities nearer to each other than others.
    assert training["hit/parent_distance"] < 0.8 * training["hit/distance"]
