"""adalora: the golden against triplets added by hand, and what the paper says of merging and of budgets."""

import pytest
from tests.suite.repository import facts_of

FACTS = """
import json, torch
from loralib.adalora import SVDLinear, orthogonality
from loralib.allocator import BudgetSchedule, compact
from loralib.layers import IncrementConfig
from experiment import run

def layer(**options):
    torch.manual_seed(0)
    made = SVDLinear(3, 2, IncrementConfig(r=2, alpha=6.0), **options).double()
    with torch.no_grad():
        made.lora_A.copy_(torch.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]]))
        made.lora_E.copy_(torch.tensor([[0.5], [-2.0]]))
        made.lora_B.copy_(torch.tensor([[1.0, 0.0], [3.0, 1.0]]))
        made.weight.zero_()
        made.bias.copy_(torch.tensor([10.0, 20.0]))
    return made

facts = {}
x = torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float64)
facts["by hand"] = layer()(x).tolist()
facts["update"] = layer().update_weight().tolist()
facts["transposed"] = layer(fan_in_fan_out=True)(x).tolist()
merged = layer().eval()
facts["merged"] = merged(x).tolist()
cut = layer()
with torch.no_grad():
    cut.lora_E[0] = 0.0
before = cut(x)
compact(cut)
facts["compaction"] = [cut.r, (cut(x) - before).abs().max().item()]
fresh = SVDLinear(3, 2, IncrementConfig(r=2))
facts["fresh"] = fresh.update_weight().abs().max().item()
facts["orthonormal"] = orthogonality(torch.nn.Sequential(layer())).item()
schedule = BudgetSchedule(initial=12, final=4, warm_up=10, cool_down=20, total=50)
facts["budgets"] = [schedule.budget(step) for step in (0, 9, 10, 20, 29, 30, 49)]
torch.set_default_dtype(torch.float64)
facts["experiments"] = [run(seed) for seed in range(8)]
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def facts():
    return facts_of("adalora", FACTS)


def test_two_triplets_by_hand(facts):
    # x q_1 = 1 + 6 = 7 and x q_2 = 2; times 0.5 and -2; times 6 / 2.
    first, second = 3 * 7 * 0.5, 3 * 2 * -2
    expected = [10 + first * 1, 20 + first * 3 + second * 1]
    for name in ("by hand", "transposed", "merged"):
        assert facts[name][0] == pytest.approx(expected, rel=1e-5)


def test_the_update_is_the_sum_of_outer_products(facts):
    expected = [[3 * 0.5, 0, 3 * 1.0], [3 * 1.5, 3 * -2.0, 3 * 3.0]]
    for row, wanted in zip(facts["update"], expected, strict=True):
        assert row == pytest.approx(wanted, rel=1e-5, abs=1e-9)


def test_a_fresh_layer_adds_nothing(facts):
    assert facts["fresh"] == 0


def test_compaction_changes_nothing_but_the_rank(facts):
    assert facts["compaction"] == [1, pytest.approx(0, abs=1e-12)]


def test_the_regulariser(facts):
    # Q Q^T = [[5, 0], [0, 1]] and P^T P = [[10, 3], [3, 1]].
    assert facts["orthonormal"] == pytest.approx(((5 - 1) ** 2 + (10 - 1) ** 2 + 2 * 3**2) / 2)


def test_the_budget_falls_cubically(facts):
    assert facts["budgets"] == [12, 12, 12, round(4 + 8 / 8), 4, 4, 4]


def test_a_budget_that_moves_goes_further_than_an_even_one(facts):
    for stages in facts["experiments"]:
        before, even, adaptive = (stages[name]["loss"] for name in ("data", "even ranks", "adaptive ranks"))
        assert adaptive < even < before
        unseen = stages["evaluation"]
        assert unseen["adaptive"] < unseen["even"] < unseen["before"]
        # What is to be learnt lies in the last layer.
        layers = [f"layer {number}" for number in range(4)]
        for name in ("importance", "adaptive ranks"):
            assert max(layers, key=stages[name].get) == "layer 3"
        ranks = stages["rates"]
        assert ranks["rank of layer 3"] >= 2
        assert sum(ranks.values()) <= 4
