"""cad: the golden against distributions worked out by hand and what the paper says of it."""

import math
from collections import Counter

import pytest
from tests.suite.repository import facts_of

FACTS = """
import json, torch
from cad.decoding import context_aware_sampling
from cad.model import VotingLM
from cad.prompts import build_prompt, left_pad
from cad.tokenizer import WordTokenizer
from experiment import run

class Stub:
    # The logits of the next token: 4 plus the number of query words, for the word a; 1 for each context word, for b.
    def __init__(self, tokenizer):
        self.a, self.b, self.c, self.q = (tokenizer.encode(word)[0] for word in "abcq")
        self.size = len(tokenizer)
        self.seen = []

    def __call__(self, ids):
        self.seen.append(ids.tolist())
        logits = torch.full((*ids.shape, self.size), -50.0, dtype=torch.float64)
        logits[..., self.a] = 1.0 + (ids == self.q).sum(dim=1, keepdim=True)
        logits[..., self.b] = (ids == self.c).sum(dim=1, keepdim=True).double()
        return logits

facts = {}
tokenizer = WordTokenizer("abcq")
stub = Stub(tokenizer)
prompts = left_pad([build_prompt(tokenizer, "q", "c c")] * 4000, tokenizer.pad_id)
contexts = left_pad([tokenizer.encode("c c")] * 4000, tokenizer.pad_id)
generator = torch.Generator().manual_seed(3)
for alpha, temperature in ((0.0, 1.0), (0.5, 1.0), (1.5, 2.0)):
    ids = context_aware_sampling(stub, tokenizer, prompts, contexts, alpha, 1, temperature, generator)
    facts[f"{alpha} {temperature}"] = tokenizer.decode(ids.flatten().tolist())
stub.seen.clear()
context_aware_sampling(stub, tokenizer, prompts[:1], contexts[:1], 0.5, 3, 0.0)
facts["prompts"] = sorted({tokenizer.decode(row) for batch in stub.seen for row in batch})

model = VotingLM(len(tokenizer), tokenizer.pad_id, seed=1).double()
rows = [build_prompt(tokenizer, "q a", "c c b"), build_prompt(tokenizer, "q", "b")]
batch = model(left_pad(rows, tokenizer.pad_id))[:, -1]
facts["batched"] = (batch - torch.stack([model(torch.tensor([row]))[0, -1] for row in rows])).abs().max().item()
facts["experiments"] = [run(seed) for seed in range(3)]
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def facts():
    return facts_of("cad", FACTS)


@pytest.mark.parametrize(("alpha", "temperature"), [(0.0, 1.0), (0.5, 1.0), (1.5, 2.0)])
def test_the_share_of_each_word_is_the_product_of_experts(facts, alpha, temperature):
    # Logits of a and b: (2, 2) with the context, (2, 0) without it, so that b gains 2 alpha.
    expected = 1 / (1 + math.exp(-2 * alpha / temperature))
    counts = Counter(facts[f"{alpha} {temperature}"].split())
    assert counts["b"] / 4000 == pytest.approx(expected, abs=0.03)


def test_the_second_run_differs_by_the_context_alone(facts):
    assert facts["prompts"] == ["c c q", "c c q b", "c c q b b", "q", "q b", "q b b"]


def test_padding_changes_no_prediction(facts):
    assert facts["batched"] < 1e-12


def test_the_experiment_shows_that_the_document_wins_over_memory(facts):
    for stages in facts["experiments"]:
        matches, decoded = stages["rates"], stages["decoding"]
        # Regular decoding leans on memory where the document was swapped, and the adjustment turns that round.
        assert matches["swapped/low alpha/greedy"] < 0.45 < 0.5 < matches["swapped/middle alpha/greedy"]
        assert matches["swapped/high alpha/greedy"] > matches["swapped/middle alpha/greedy"]
        # Its price: documents that agree with what is known.
        low, middle, high = (matches[f"original/{level} alpha/greedy"] for level in ("low", "middle", "high"))
        assert high < middle < low
        assert low > 0.7
        # The stronger the adjustment, the less likely is an answer to a model that has not seen the document.
        for way in ("greedy", "sampled"):
            low, middle, high = (
                decoded[f"swapped/{level} alpha/{way}/log-probability without"] for level in ("low", "middle", "high")
            )
            assert high < middle < low
        # What is sampled is less likely than what is decoded greedily.
        for name in ("original", "swapped"):
            greedy, sampled = (
                decoded[f"{name}/low alpha/{way}/log-probability with document"] for way in ("greedy", "sampled")
            )
            assert sampled < greedy


def test_training_teaches_the_facts_and_a_little_reading(facts):
    for stages in facts["experiments"]:
        before, after = stages["initial model"], stages["training"]
        assert all(3.8 < before[f"{kind}/loss 1"] < 4.4 for kind in ("known", "read"))
        assert after["known/loss 1"] < 0.5 * after["read/loss 1"] < 1.0
