"""spin: the golden against what the paper says of it and what can be worked out by hand."""

import math

import pytest
from tests.suite.repository import facts_of

FACTS = """
import json, torch
from experiment import run
from spin.alignment.configs import SPINConfig
from spin.alignment.data import Example, all_prompts, all_responses, collate, data_distribution
from spin.alignment.model import build_model, response_logps
from spin.alignment.trainer import SPINTrainer

double = lambda *values: torch.tensor(values, dtype=torch.float64)
config = SPINConfig(betas=(0.5, 0.25), learning_rates=(1e-3, 1e-3))
trainer = SPINTrainer(build_model(0), config)
policy = [double(-1.0, -2.0).requires_grad_(), double(-3.0, -1.5).requires_grad_()]
opponent = [double(-1.5, -1.0), double(-2.0, -2.5)]
facts = {}
for loss_type in ("sigmoid", "hinge"):
    trainer.loss_type = loss_type
    for free in (False, True):
        losses, real, generated = trainer.spin_loss(*policy, *opponent, reference_free=free)
        facts[f"{loss_type} {free}"] = {"losses": losses.tolist(), "rewards": [real.tolist(), generated.tolist()]}
    losses = trainer.spin_loss(*policy, *opponent)[0]
    facts[f"{loss_type} gradients"] = [g.tolist() for g in torch.autograd.grad(losses.sum(), policy)]
    facts[f"{loss_type} at the opponent"] = trainer.spin_loss(*opponent, *opponent)[0].tolist()
trainer.start_iteration(1)
facts["rewards in the next iteration"] = [r.tolist() for r in trainer.spin_loss(*policy, *opponent)[1:]]
trainer.loss_type = "exponential"
try:
    trainer.spin_loss(*policy, *opponent)
except Exception as error:
    facts["unknown"] = type(error).__name__

# A distribution over five responses, trained without noise: the expectation of the loss over all pairs.
data, old = double(0.4, 0.3, 0.15, 0.1, 0.05), double(0.1, 0.15, 0.2, 0.25, 0.3)
trainer.beta = 2.0
logits = old.log().requires_grad_()
real, generated = torch.cartesian_prod(torch.arange(5), torch.arange(5)).T

def expected_loss():
    logps = logits.log_softmax(-1)
    losses, *_ = trainer.spin_loss(logps[real], logps[generated], old.log()[real], old.log()[generated])
    return (data[real] * old[generated] * losses).sum()

for trainer.loss_type in ("hinge", "sigmoid"):
    facts[f"{trainer.loss_type} first step"] = torch.autograd.grad(expected_loss(), logits)[0].tolist()
facts["supervised first step"] = torch.autograd.grad(-(data * logits.log_softmax(-1)).sum(), logits)[0].tolist()
optimizer = torch.optim.LBFGS([logits], max_iter=100, line_search_fn="strong_wolfe", tolerance_grad=1e-12)

def closure():
    optimizer.zero_grad()
    loss = expected_loss()
    loss.backward()
    return loss

optimizer.step(closure)
facts["next opponent"] = logits.softmax(-1).tolist()
step = old * (data / old) ** (1 / trainer.beta)
facts["theorem"] = (step / step.sum()).tolist()

model = build_model(1)
prompt, response = all_prompts()[0], all_responses()[6]
logps = model(torch.tensor([prompt + response])).log_softmax(-1)[0]
facts["by token"] = sum(logps[len(prompt) + i - 1, token].item() for i, token in enumerate(response))
facts["response"] = response_logps(model, *collate([Example(prompt, response)], 9)).item()
facts["mass"] = data_distribution().sum(-1).tolist()
runs = [run(seed) for seed in range(5)]
facts["experiment"] = {
    name: sum(results["evaluation"][name] for results in runs) / len(runs) for name in runs[0]["evaluation"]
}
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def facts():
    return facts_of("spin", FACTS)


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def test_losses_and_rewards_by_hand(facts):
    # Pair 1: (-1 + 1.5) - (-3 + 2) = 1.5; pair 2: (-2 + 1) - (-1.5 + 2.5) = -2. Without the opponent: 2 and -0.5.
    for free, log_ratios in (("False", [1.5, -2.0]), ("True", [2.0, -0.5])):
        expected = [math.log(1 + math.exp(-0.5 * r)) for r in log_ratios]
        assert facts[f"sigmoid {free}"]["losses"] == pytest.approx(expected)
        assert facts[f"hinge {free}"]["losses"] == pytest.approx([max(0, 1 - 0.5 * r) for r in log_ratios])
        for loss_type in ("sigmoid", "hinge"):
            assert facts[f"{loss_type} {free}"]["rewards"] == [[0.25, -0.5], [-0.5, 0.5]]


def test_an_iteration_brings_its_own_beta(facts):
    assert facts["rewards in the next iteration"] == [[0.125, -0.25], [-0.25, 0.25]]


def test_gradients_are_those_of_the_loss_functions(facts):
    # Logistic: -beta * sigma(-margin); hinge: -beta below a margin of one.
    weights = [0.5 * sigmoid(-0.75), 0.5 * sigmoid(1.0)]
    assert facts["sigmoid gradients"][0] == pytest.approx([-w for w in weights])
    assert facts["sigmoid gradients"][1] == pytest.approx(weights)
    assert facts["hinge gradients"] == [[-0.5, -0.5], [0.5, 0.5]]


def test_an_iteration_starts_at_the_loss_of_a_margin_of_zero(facts):
    assert facts["sigmoid at the opponent"] == pytest.approx([math.log(2)] * 2)
    assert facts["hinge at the opponent"] == [1.0, 1.0]


def test_the_minimum_is_the_papers_next_opponent(facts):
    # Theorem 5.4, with lambda = 2.
    assert facts["next opponent"] == pytest.approx(facts["theorem"], abs=1e-5)


def test_an_iteration_starts_in_the_direction_of_supervised_fine_tuning(facts):
    # At a margin of zero the derivatives are -1/2 and -1, times lambda = 2; the opponent's score has a mean of zero.
    for loss_type, factor in (("sigmoid", 1.0), ("hinge", 2.0)):
        expected = [factor * g for g in facts["supervised first step"]]
        assert facts[f"{loss_type} first step"] == pytest.approx(expected)


def test_an_unknown_loss_is_an_error(facts):
    assert facts["unknown"] == "ValueError"


def test_log_probabilities_are_sums_over_the_response_alone(facts):
    assert facts["response"] == pytest.approx(facts["by token"])


def test_people_answer_with_probabilities(facts):
    assert facts["mass"] == pytest.approx([1.0] * 24)


def test_self_play_narrows_the_gap_in_every_iteration(facts):
    results = facts["experiment"]
    path = [results["sft/kl"], *(results[f"spin/{iteration}/kl"] for iteration in range(3))]
    assert path == sorted(path, reverse=True)
    assert path[0] - path[1] > path[2] - path[3]
    assert results["hinge/0/kl"] < results["sft/kl"]


def test_renewing_the_opponent_beats_more_epochs_against_the_first(facts):
    results = facts["experiment"]
    assert results["spin/2/kl"] < results["one_iteration/0/kl"] < results["sft/kl"]


def test_the_toy_is_no_evidence_against_continued_supervised_fine_tuning(facts):
    # The repository says so: it starts far from the plateau of the paper.
    results = facts["experiment"]
    assert results["continued_sft/2/kl"] < results["spin/2/kl"]
