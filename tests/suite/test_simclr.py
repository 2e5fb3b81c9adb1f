"""simclr: the golden against equation 1 written out, and what the paper says of it."""

import math

import pytest
from tests.suite.repository import facts_of

FACTS = """
import json, torch
from augment import make_views
from data import draw_images, draw_patterns
from experiment import run
from models import ContrastiveModel
from simclr import SimCLR, SimCLRConfig

def simclr(**options):
    return SimCLR(ContrastiveModel(4), SimCLRConfig(**options))

generator = torch.Generator().manual_seed(1)
features = torch.randn(6, 4, generator=generator, dtype=torch.float64)
logits, labels = simclr(temperature=0.3).info_nce_loss(features)
facts = {"features": features.tolist(), "loss": torch.nn.functional.cross_entropy(logits, labels).item()}
facts["scaled"] = (simclr(temperature=0.3).info_nce_loss(7 * features)[0] - logits).abs().max().item()
axes = torch.eye(3, dtype=torch.float64).repeat(2, 1)
facts["axes"] = simclr(temperature=0.5).info_nce_loss(axes)[0].tolist()
three = torch.arange(1.0, 7.0, dtype=torch.float64)
three = torch.stack([three.cos(), three.sin()], dim=1)
facts["three views"] = simclr(temperature=1.0, n_views=3).info_nce_loss(three)[0][3].tolist()
images = draw_images(draw_patterns(generator), 5, generator).pixels
views = make_views(images, "distort", 2, generator)
center = lambda x: (x - x.mean(dim=(1, 2), keepdim=True)).flatten(1)
facts["views"] = torch.cosine_similarity(center(views[:5]), center(views[5:])).tolist()
facts["experiment"] = [run(seed) for seed in range(4)]
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def facts():
    return facts_of("simclr", FACTS)


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.dist(a, [0] * len(a)) / math.dist(b, [0] * len(b))


def test_the_cross_entropy_is_equation_1_over_both_orders_of_every_pair(facts):
    z, tau = facts["features"], 0.3

    def loss(i, j):
        others = sum(math.exp(cosine(z[i], z[k]) / tau) for k in range(6) if k != i)
        return -math.log(math.exp(cosine(z[i], z[j]) / tau) / others)

    expected = sum(loss(k, k + 3) + loss(k + 3, k) for k in range(3)) / 6
    assert facts["loss"] == pytest.approx(expected)


def test_lengths_of_projections_have_no_effect(facts):
    assert facts["scaled"] < 1e-12


def test_views_that_coincide_have_the_largest_logit(facts):
    assert facts["axes"] == [pytest.approx([2.0, 0.0, 0.0, 0.0, 0.0])] * 6


def test_with_three_views_two_positives_come_first_and_the_rest_in_order(facts):
    # Rows at angles 1 to 6; row 3 (angle 4) is the second view of image 1: rows 1 and 5 show it too.
    assert facts["three views"] == pytest.approx([math.cos(4 - angle) for angle in (2, 6, 1, 3, 5)])


def test_distortion_keeps_the_pattern(facts):
    assert facts["views"] == pytest.approx([1.0] * 5)


def test_the_experiment_shows_that_training_without_labels_helps(facts):
    stages = facts["experiment"]
    share = {key: sum(run["evaluation"][key] for run in stages) / len(stages) for key in stages[0]["evaluation"]}
    assert share["both/linear"] > share["untrained/linear"] + 0.04
    assert share["distort/linear"] > share["untrained/linear"] + 0.1
    # Crops alone are told apart by their brightness, with which a representation gains less.
    assert share["crop/linear"] < share["both/linear"]
    for run in stages:
        assert run["training"]["crop/loss"] < run["training"]["both/loss"]
    loss = {name: sum(run["training"][f"{name}/loss"] for run in stages) for name in ("both", "three_views")}
    assert loss["three_views"] > loss["both"]
