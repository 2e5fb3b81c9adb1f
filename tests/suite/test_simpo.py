"""simpo: the golden against what the paper says of it and what can be worked out by hand."""

import math

import pytest
from tests.suite.repository import facts_of

FACTS = """
import json, torch
from data import IGNORED, make_pairs
from experiment import run
from model import ModelConfig, build_model
from scripts.simpo_config import SimPOConfig
from scripts.simpo_trainer import SimPOTrainer
from tokenizer import Tokenizer

double = lambda *values: torch.tensor(values, dtype=torch.float64)
chosen, rejected = double(-0.5, -1.25).requires_grad_(), double(-1.5, -0.75).requires_grad_()
facts = {}
variants = {
    "sigmoid": {},
    "smoothed": {"label_smoothing": 0.2},
    "hinge": {"loss_type": "hinge", "label_smoothing": 0.2},
}
for name, options in variants.items():
    trainer = SimPOTrainer(None, SimPOConfig(beta=2.5, gamma_beta_ratio=0.4, **options))
    losses, *rewards = trainer.simpo_loss(chosen, rejected)
    gradients = torch.autograd.grad(losses.sum(), (chosen, rejected))
    facts[name] = {
        "losses": losses.tolist(),
        "rewards": [reward.tolist() for reward in rewards],
        "gradients": [gradient.tolist() for gradient in gradients],
    }

trainer = SimPOTrainer(None, SimPOConfig(beta=2.0, gamma_beta_ratio=0.8, loss_type="hinge"))
facts["hinge_once_one_beyond"] = trainer.simpo_loss(double(-1.0, -1.0), double(-2.3, -2.2))[0].tolist()
trainer = SimPOTrainer(None, SimPOConfig(beta=2.0, gamma_beta_ratio=0.8))
facts["at_the_margin"] = trainer.simpo_loss(double(-1.0), double(-1.8))[0].tolist()
far = trainer.simpo_loss(double(-1.0, -900.0), double(-900.0, -1.0))[0]
facts["far_out"] = far.tolist()
try:
    SimPOTrainer(None, SimPOConfig(loss_type="ipo")).simpo_loss(chosen, rejected)
except ValueError as error:
    facts["unknown"] = str(error)

tokenizer = Tokenizer()
pairs = make_pairs(5, tokenizer, torch.Generator().manual_seed(3))
model = build_model(ModelConfig(vocabulary=len(tokenizer)), 0)
def slow(tokens, labels, row):
    logps = [
        model(tokens[row : row + 1, :place])[0, -1].log_softmax(-1)[label].item()
        for place, label in enumerate(labels[row].tolist())
        if label != IGNORED
    ]
    return [sum(logps), sum(logps) / len(logps)]
facts["slow"] = [
    [slow(tokens, labels, row) for row in range(5)]
    for tokens, labels in ((pairs.chosen, pairs.chosen_labels), (pairs.rejected, pairs.rejected_labels))
]
facts["logps"] = {}
for normalized in (False, True):
    trainer = SimPOTrainer(model, SimPOConfig(length_normalized=normalized), tokenizer.pad)
    facts["logps"][str(normalized)] = [logps.tolist() for logps in trainer.concatenated_forward(pairs)]
facts["experiments"] = [run(seed) for seed in (0, 1)]
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def facts():
    return facts_of("simpo", FACTS)


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


# Pair 1: 2.5 * (-0.5 + 1.5) - 1 = 1.5; pair 2: 2.5 * (-1.25 + 0.75) - 1 = -2.25, with gamma = 2.5 * 0.4 = 1.
EXCESS = [1.5, -2.25]


def test_losses_and_rewards_by_hand(facts):
    assert facts["sigmoid"]["losses"] == pytest.approx([-math.log(sigmoid(e)) for e in EXCESS])
    soft = [-0.8 * math.log(sigmoid(e)) - 0.2 * math.log(1 - sigmoid(e)) for e in EXCESS]
    assert facts["smoothed"]["losses"] == pytest.approx(soft)
    assert facts["hinge"]["losses"] == pytest.approx([0.0, 3.25])
    for name in ("sigmoid", "smoothed", "hinge"):
        assert facts[name]["rewards"] == [[-1.25, -3.125], [-3.75, -1.875]]


def test_the_gradient_is_the_papers(facts):
    # Equation 7: -beta * s towards the chosen response, and the opposite towards the rejected one.
    weights = [2.5 * sigmoid(-e) for e in EXCESS]
    assert facts["sigmoid"]["gradients"][0] == pytest.approx([-w for w in weights])
    assert facts["sigmoid"]["gradients"][1] == pytest.approx(weights)
    assert facts["hinge"]["gradients"] == [[0.0, -2.5], [0.0, 2.5]]


def test_at_the_target_margin_the_loss_is_that_of_a_coin(facts):
    # Table 8, Mistral-Base: beta 2.0 and gamma 1.6; the winner leads by 2.0 * 0.8.
    assert facts["at_the_margin"] == pytest.approx([math.log(2)])


def test_the_hinge_is_shut_from_one_beyond_the_margin(facts):
    assert facts["hinge_once_one_beyond"] == pytest.approx([0.0, 0.2])


def test_far_out_losses_are_finite_and_linear(facts):
    assert facts["far_out"] == pytest.approx([0.0, 2 * 899 + 1.6])


def test_an_unknown_loss_type_is_an_error(facts):
    assert "ipo" in facts["unknown"]


def test_log_probabilities_agree_with_one_token_at_a_time(facts):
    for side, rows in enumerate(facts["slow"]):
        assert facts["logps"]["False"][side] == pytest.approx([row[0] for row in rows], rel=1e-4)
        assert facts["logps"]["True"][side] == pytest.approx([row[1] for row in rows], rel=1e-4)


def test_the_experiment_shows_what_the_margin_does(facts):
    # Section 4.3: a larger margin, a larger difference, and less likely winners.
    for results in facts["experiments"]:
        found = results["evaluation"]
        variants = [found[f"{name}/difference"] for name in ("sft", "gamma_0", "simpo", "gamma_large")]
        assert variants == sorted(variants)
        winners = [found[f"{name}/winner"] for name in ("gamma_0", "simpo", "gamma_large")]
        assert winners == sorted(winners, reverse=True)


def test_the_experiment_shows_what_length_normalisation_does(facts):
    # Section 4.2: without it, shorter winners gain little, and likelihood goes with length.
    for results in facts["experiments"]:
        found = results["evaluation"]
        assert found["simpo/difference_if_shorter"] > 1.5 * found["without_ln/difference_if_shorter"]
        assert found["without_ln/length_correlation"] > found["simpo/length_correlation"] + 0.2


def test_the_likelihood_that_is_added_keeps_winners_likely(facts):
    # Appendix J: without it, winners lose likelihood while the difference grows.
    for results in facts["experiments"]:
        assert results["evaluation"]["with_sft/winner"] > results["evaluation"]["simpo/winner"]


def test_the_experiment_logs_stages_of_numbers_that_are_finite(facts):
    for results in facts["experiments"]:
        assert list(results) == ["data", "initial model", "fine-tuning", "training", "evaluation"]
        assert all(math.isfinite(value) for stage in results.values() for value in stage.values())
