"""dola: the golden against distributions worked out by hand and by scipy, and what the paper says of contrasting."""

import math
from statistics import fmean

import pytest
from scipy.spatial.distance import jensenshannon
from tests.suite.repository import facts_of

FACTS = """
import json, math, torch
from dola.buckets import bucket_layers
from dola.config import DolaConfig, ModelConfig
from dola.decoding import dola_greedy_decode, greedy_decode
from dola.model import EarlyExitLM
from experiment import run

class Stub:
    # Next-token probabilities by layer, the same for every row and step, in logits of some level; padding is token 0.
    def __init__(self, table):
        self.table = table

    def __call__(self, ids, early_exit_layers):
        logits = {layer: torch.tensor(self.table[layer], dtype=torch.float64).log() + layer - 7 for layer in self.table}
        return {layer: logits[layer].expand(*ids.shape, -1) for layer in early_exit_layers}

def decode(table, candidates, mature, **settings):
    config = DolaConfig(mature, candidates, max_length=3, pad_id=0, **settings)
    output = dola_greedy_decode(Stub(table), torch.tensor([[1, 2]]), config)
    return {
        "token": output.sequences[0, -1].item(),
        "layer": output.premature_layers.item(),
        "scores": output.scores[0][0].tolist(),
        "divergences": output.divergences[0, 0].tolist(),
    }

tiny = 1e-12
capital = {
    0: [tiny, 0.40, 0.05, 0.30, 0.25],
    2: [tiny, 0.50, 0.10, 0.30, 0.10],
    4: [tiny, 0.50, 0.40, 0.09, 0.01],
}
facts = {"tables": capital}
facts["capital"] = decode(capital, (0, 2), 4)
facts["static"] = decode(capital, (2,), 4)
facts["strict"] = decode(capital, (0, 2), 4, relative_top=1.0)
facts["half"] = decode(capital, (0, 2), 4, relative_top=0.5)
facts["loose"] = decode({**capital, 0: [tiny, 0.40, 0.05, 0.55 - tiny, tiny]}, (0,), 4, relative_top=0.0)
facts["at least"] = decode(capital, (0, 2), 4, relative_top=1.0, min_tokens_to_keep=3)
facts["apart"] = decode({0: [tiny, 1.0, tiny, tiny, tiny], 4: [tiny, tiny, 1.0, tiny, tiny]}, (0,), 4)

model = EarlyExitLM(ModelConfig(20, 0, num_layers=4, hidden=16, seed=3))
generator = torch.Generator().manual_seed(0)
rows = [torch.randint(1, 20, (length,), generator=generator).tolist() for length in (2, 5, 3, 4)]
batch = torch.tensor([[0] * (5 - len(row)) + row for row in rows])
settings = DolaConfig(4, (0, 1, 2, 3), max_length=12, pad_id=0, eos_ids=(7, 8))
together = dola_greedy_decode(model, batch, settings)
alone = []
for row in rows:
    config = DolaConfig(4, (0, 1, 2, 3), max_length=len(row) + 7, pad_id=0, eos_ids=(7, 8))
    output = dola_greedy_decode(model, torch.tensor([row]), config)
    alone.append([output.sequences[0, len(row) :].tolist(), output.premature_layers[0].tolist()])
facts["alone"] = alone
facts["together"] = [
    [ids[:len(one)], layers[:len(one)]]
    for ids, layers, (one, _) in zip(together.sequences[:, 5:].tolist(), together.premature_layers.tolist(), alone)
]
facts["rest"] = [
    ids[len(one):] + [layer + 1 for layer in layers[len(one):]]
    for ids, layers, (one, _) in zip(together.sequences[:, 5:].tolist(), together.premature_layers.tolist(), alone)
]
facts["counted"] = [sum(together.layer_counts.values()), sum(len(one) for one, _ in alone)]
strict = DolaConfig(4, (0, 1, 2, 3), max_length=12, pad_id=0, eos_ids=(7, 8), relative_top=1.0)
facts["greedy"] = [
    dola_greedy_decode(model, batch, strict).sequences.tolist(),
    greedy_decode(model, batch, 4, 12, (7, 8), 0).tolist(),
]
facts["buckets"] = [bucket_layers(32, 2, 2), bucket_layers(60, 3, 2)]
facts["experiments"] = [run(seed) for seed in range(6)]
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def facts():
    return facts_of("dola", FACTS)


def test_the_divergence_is_scipy_s_and_the_farthest_layer_is_chosen(facts):
    tables = facts["tables"]
    expected = [jensenshannon(tables[layer], tables["4"]) ** 2 for layer in "02"]
    assert facts["capital"]["divergences"] == pytest.approx(expected, abs=1e-9)
    assert facts["capital"]["layer"] == 0
    assert facts["apart"]["divergences"] == pytest.approx([math.log(2)], abs=1e-9)


def test_the_capital_that_gains_probability_wins_over_the_one_that_was_always_likely(facts):
    log = math.log
    # At alpha 0.1 the last token, of probability 0.01, is ruled out, and so is padding.
    expected = [-1000, log(0.50 / 0.40), log(0.40 / 0.05), log(0.09 / 0.30), -1000]
    assert facts["capital"]["scores"] == pytest.approx(expected)
    assert facts["capital"]["token"] == 2
    assert facts["static"]["scores"][1:4] == pytest.approx([log(1.0), log(4.0), log(0.3)])


def test_the_plausibility_constraint_rules_out_by_the_mature_layer_alone(facts):
    assert [facts[name]["token"] for name in ("strict", "half", "loose")] == [1, 2, 4]
    assert [score > -1000 for score in facts["strict"]["scores"]] == [False, True, False, False, False]
    assert [score > -1000 for score in facts["half"]["scores"]] == [False, True, True, False, False]
    assert [score > -1000 for score in facts["at least"]["scores"]] == [False, True, True, True, False]


def test_rows_of_a_batch_are_decoded_as_alone(facts):
    assert facts["together"] == facts["alone"]
    assert not any(any(rest) for rest in facts["rest"])
    assert facts["counted"][0] == facts["counted"][1]


def test_with_alpha_one_it_is_greedy_decoding(facts):
    assert facts["greedy"][0] == facts["greedy"][1]


def test_buckets_are_the_paper_s(facts):
    assert facts["buckets"][0] == [list(range(0, 16, 2)), list(range(16, 32, 2))]
    assert facts["buckets"][1] == [list(range(start, start + 20, 2)) for start in (0, 20, 40)]


def mean(facts, stage, metric):
    # A run has few facts, so runs are averaged.
    return fmean(metrics[stage][metric] for metrics in facts["experiments"])


def test_contrasting_finds_more_facts_and_sentences_need_the_constraint(facts):
    share = mean(facts, "training", "share")
    assert mean(facts, "evaluation", "high/share") > share + 0.1
    assert mean(facts, "evaluation", "low/share") > share
    assert mean(facts, "rates", "chosen/factual") > mean(facts, "rates", "greedy/factual") + 0.1
    assert mean(facts, "rates", "chosen/fluent") > 0.9
    for metrics in facts["experiments"]:
        found = metrics["evaluation"]
        assert found["high/popular"] < math.exp(metrics["training"]["popular"])
        assert found["unconstrained/log right"] < math.log(found["high/right"]) - 5


def test_upper_layers_still_change_the_prediction_of_facts(facts):
    assert mean(facts, "evaluation", "fact/high layers") > 2 * mean(facts, "evaluation", "easy/high layers")
    for metrics in facts["experiments"]:
        assert metrics["evaluation"]["fact/high layers"] > metrics["evaluation"]["easy/high layers"]
