"""tdpo: the golden against what the paper derives and what can be worked out by hand."""

import math

import pytest
from tests.suite.repository import facts_of

FACTS = """
import json, torch
from data import PairBatch, make_pairs
from experiment import run
from model import ModelConfig, build_model
from tokenizer import Tokenizer
from trainers import tdpo_loss
from utils import pair_statistics, sequential_kl, token_logps

double = lambda *values: torch.tensor(values, dtype=torch.float64)
given = [double(1.0, -0.5), double(-2.0, 1.5), double(0.8, 2.0), double(3.0, 1.2)]
facts = {}
variants = {"first": {"if_tdpo2": False}, "second": {}, "one": {"alpha": 1.0}, "zero": {"alpha": 0.0}}
for name, options in variants.items():
    statistics = [row.clone().requires_grad_() for row in given]
    losses, chosen, rejected = tdpo_loss(*statistics, beta=0.5, **options)
    gradients = torch.autograd.grad(losses.sum(), statistics, materialize_grads=True)
    facts[name] = {
        "losses": losses.tolist(),
        "rewards": [chosen.tolist(), rejected.tolist()],
        "gradients": [gradient.tolist() for gradient in gradients],
    }

# The policy that is optimal for values drawn at random (eq. 8), along one answer of each kind.
generator = torch.Generator().manual_seed(3)
beta, length, vocabulary = 0.3, 5, 7
reference_logits = torch.randn(2, length, vocabulary, generator=generator, dtype=torch.float64)
values = torch.randn(2, length, vocabulary, generator=generator, dtype=torch.float64)
optimal_logits = reference_logits.log_softmax(-1) + values / beta
labels = torch.randint(vocabulary, (2, length), generator=generator)
labels[:, :2] = -100
margins = (token_logps(optimal_logits, labels) - token_logps(reference_logits, labels)).sum(-1)
divergences = sequential_kl(optimal_logits, reference_logits, labels)
losses, chosen, rejected = tdpo_loss(
    margins[:1], margins[1:], divergences[:1], divergences[1:], beta=beta, if_tdpo2=False
)
facts["rewards_at_the_optimum"] = [chosen.item(), rejected.item()]
facts["preference_at_the_optimum"] = losses.neg().exp().item()
facts["values"] = values.tolist()
facts["reference"] = reference_logits.softmax(-1).tolist()
facts["labels"] = labels.tolist()
kl = torch.distributions.kl_divergence
pairs = [torch.distributions.Categorical(logits=logits) for logits in (reference_logits, optimal_logits)]
facts["divergences"] = [divergences.tolist(), kl(*pairs)[:, 1:-1].sum(-1).tolist()]

tokenizer = Tokenizer()
batch = make_pairs(6, tokenizer, generator)
models = [build_model(ModelConfig(vocabulary=len(tokenizer)), seed) for seed in (0, 1)]
longer = PairBatch(*(
    torch.cat([row, torch.full((6, 2), fill)], dim=1)
    for row, fill in zip(vars(batch).values(), (0, -100, 0, -100))
))
for name, pairs in {"statistics": batch, "padded": longer}.items():
    facts[name] = [row.tolist() for row in vars(pair_statistics(*models, pairs)).values()]
facts["same_model"] = [row.tolist() for row in vars(pair_statistics(models[0], models[0], batch)).values()]
facts["decoded"] = tokenizer.decode(tokenizer.encode("the plot was very dull <end> <pad> <pad>"))
facts["experiments"] = [run(seed) for seed in (0, 1)]
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def facts():
    return facts_of("tdpo", FACTS)


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def test_losses_and_rewards_by_hand(facts):
    # Log-ratios 1 + 2 = 3 and -0.5 - 1.5 = -2; divergence gaps 3 - 0.8 = 2.2 and 1.2 - 2 = -0.8; beta is 0.5.
    expected = {"first": (0.8, -1.2), "second": (1.9, -1.6), "one": (0.8, -1.2), "zero": (3.0, -2.0)}
    for version, values in expected.items():
        assert facts[version]["losses"] == pytest.approx([-math.log(sigmoid(0.5 * value)) for value in values])
        assert facts[version]["rewards"][0] == pytest.approx([0.9, 0.75])
        assert facts[version]["rewards"][1] == pytest.approx([0.5, 1.35])


def test_gradients_are_the_papers(facts):
    # Equation 16: the weight is sigma(-u + delta); the second version has no path through the chosen divergence.
    first = [0.5 * sigmoid(-0.4), 0.5 * sigmoid(0.6)]
    for gradient, sign in zip(facts["first"]["gradients"], (-1, 1, -1, 1), strict=True):
        assert gradient == pytest.approx([sign * weight for weight in first])
    second = [0.5 * sigmoid(-0.95), 0.5 * sigmoid(0.8)]
    for gradient, factor in zip(facts["second"]["gradients"], (-1, 1, 0, 0.5), strict=True):
        assert gradient == pytest.approx([factor * weight for weight in second])


def test_with_alpha_one_the_versions_differ_in_the_gradient_alone(facts):
    assert facts["one"]["losses"] == pytest.approx(facts["first"]["losses"])
    assert facts["one"]["gradients"][2] == [0.0, 0.0]
    assert facts["one"]["gradients"][3] == pytest.approx(facts["first"]["gradients"][3])


def test_rewards_of_the_optimal_policy_are_sums_of_advantages(facts):
    # Equations 8 and 59, the slow way: Q of the token that was written less its mean under the reference.
    rewards = []
    for values, reference, labels in zip(facts["values"], facts["reference"], facts["labels"], strict=True):
        reward = 0.0
        for position, label in enumerate(labels[1:]):
            if label != -100:
                mean = sum(p * q for p, q in zip(reference[position], values[position], strict=True))
                reward += values[position][label] - mean
        rewards.append(reward)
    assert facts["rewards_at_the_optimum"] == pytest.approx(rewards)
    # Equations 11 and 12: the first version's loss is minus the logarithm of the preference's probability.
    assert facts["preference_at_the_optimum"] == pytest.approx(sigmoid(rewards[0] - rewards[1]))


def test_divergences_are_forward_and_of_the_completion_alone(facts):
    assert facts["divergences"][0] == pytest.approx(facts["divergences"][1])


def test_padding_changes_no_statistic_and_a_model_does_not_diverge_from_itself(facts):
    for row, padded, same in zip(facts["statistics"], facts["padded"], facts["same_model"], strict=True):
        assert row == pytest.approx(padded, abs=1e-4)
        assert same == pytest.approx([0.0] * 6, abs=1e-5)


def test_decoding_stops_at_the_end(facts):
    assert facts["decoded"] == "the plot was very dull"


def test_the_experiment_shows_the_papers_control_of_divergence(facts):
    for stages in facts["experiments"]:
        results = stages["training"] | stages["evaluation"]
        # Section 5.1: the second version drifts least, more so with a larger alpha, and keeps more variety.
        for answers in ("chosen_kl", "rejected_kl"):
            assert results[f"tdpo2_strong/{answers}"] < results[f"tdpo2/{answers}"] < results[f"dpo/{answers}"]
            assert results[f"tdpo2/{answers}"] < results[f"tdpo1/{answers}"]
        assert results["tdpo2/entropy"] > max(results["dpo/entropy"], results["tdpo1/entropy"])
        assert results["tdpo2/reward_margin"] > 0
        assert results["tdpo2/preference_gain"] > 0
