"""dpo: the golden against what the paper says of it and what can be worked out by hand."""

import math

import pytest
from tests.suite.repository import facts_of

FACTS = """
import json, math, torch
from experiment import run
from trainers import preference_loss
from utils import completion_logps

double = lambda *values: torch.tensor(values, dtype=torch.float64)
policy = [double(-1.0, -2.0).requires_grad_(), double(-3.0, -1.5).requires_grad_()]
reference = [double(-1.5, -1.0), double(-2.0, -2.5)]
facts = {}
variants = {"plain": {}, "smoothed": {"label_smoothing": 0.2}, "ipo": {"ipo": True}, "free": {"reference_free": True}}
for name, options in variants.items():
    losses, chosen, rejected = preference_loss(*policy, *reference, beta=0.5, **options)
    facts[name] = {"losses": losses.tolist(), "rewards": [chosen.tolist(), rejected.tolist()]}
losses, *_ = preference_loss(*policy, *reference, beta=0.5)
facts["gradients"] = [g.tolist() for g in torch.autograd.grad(losses.sum(), policy)]
facts["at_the_reference"] = preference_loss(*reference, *reference, beta=0.3)[0].tolist()
logits = torch.log(torch.tensor([[[0.5, 0.25, 0.25], [0.1, 0.6, 0.3], [1 / 3, 1 / 3, 1 / 3]]]))
facts["logps"] = completion_logps(logits, torch.tensor([[-100, 1, 2]])).item()
facts["experiment"] = run(0)
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def facts():
    return facts_of("dpo", FACTS)


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def test_losses_and_rewards_by_hand(facts):
    # Pair 1: (-1 + 3) - (-1.5 + 2) = 1.5; pair 2: (-2 + 1.5) - (-1 + 2.5) = -2.
    margins = [1.5, -2.0]
    assert facts["plain"]["losses"] == pytest.approx([-math.log(sigmoid(0.5 * m)) for m in margins])
    expected = [-0.8 * math.log(sigmoid(0.5 * m)) - 0.2 * math.log(sigmoid(-0.5 * m)) for m in margins]
    assert facts["smoothed"]["losses"] == pytest.approx(expected)
    assert facts["ipo"]["losses"] == pytest.approx([(m - 1.0) ** 2 for m in margins])
    assert facts["free"]["losses"] == pytest.approx([-math.log(sigmoid(0.5 * m)) for m in (2.0, -0.5)])
    for variant in ("plain", "smoothed", "ipo", "free"):
        assert facts[variant]["rewards"] == [[0.25, -0.5], [-0.5, 0.5]]


def test_the_gradient_is_the_papers(facts):
    # Section 4: -beta * sigma(r_l - r_w) towards the chosen answer, and the opposite towards the rejected one.
    weights = [0.5 * sigmoid(-0.75), 0.5 * sigmoid(1.0)]
    assert facts["gradients"][0] == pytest.approx([-w for w in weights])
    assert facts["gradients"][1] == pytest.approx(weights)


def test_at_the_reference_the_loss_is_that_of_a_coin(facts):
    assert facts["at_the_reference"] == pytest.approx([math.log(2)] * 2)


def test_log_probabilities_are_sums_over_the_completion_alone(facts):
    assert facts["logps"] == pytest.approx(math.log(0.25) + math.log(0.3))


def test_the_experiment_shows_that_a_smaller_beta_moves_further(facts):
    training, evaluation = (facts["experiment"][stage] for stage in ("training", "evaluation"))
    assert training["beta_0.1/loss"] < math.log(2)
    assert evaluation["beta_0.1/kl"] > evaluation["beta_0.5/kl"] > 0
    assert evaluation["beta_0.1/reward"] > evaluation["beta_0.5/reward"]
    # The policy wins more often than the reference, with which each variant starts.
    assert all(evaluation[f"{name}/wins"] > 0.5 for name in ("beta_0.1", "beta_0.5", "ipo"))
    assert training["ipo/reward_margin"] > 0


def test_the_experiment_logs_stages_of_numbers_that_are_finite(facts):
    results = facts["experiment"]
    assert list(results) == ["data", "initial model", "fine-tuning", "training", "evaluation", "rates"]
    assert all(math.isfinite(value) for stage in results.values() for value in stage.values())
