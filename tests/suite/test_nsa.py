"""nsa: the golden against full attention, single sequences and values worked out by hand, and what gates learn."""

import pytest
from tests.suite.repository import facts_of

FACTS = """
import json
import torch
from torch.nn.functional import scaled_dot_product_attention
from layer import NativeSparseAttention
from NSA import nsa
from experiment import run

generator = torch.Generator().manual_seed(0)
normal = lambda *shape: torch.randn(*shape, generator=generator)
T = 24
q, k, v = normal(2, T, 4, 8), normal(2, T, 2, 8), normal(2, T, 2, 8)
one, none = torch.ones(2, T, 4), torch.zeros(2, T, 4)
every = torch.arange(T // 4).expand(2, T, 2, -1)
gap = lambda a, b: (a - b).abs().max().item()

heads = [item.transpose(1, 2) for item in (q, k, v)]
full = scaled_dot_product_attention(*heads, is_causal=True, enable_gqa=True).transpose(1, 2)
place = torch.arange(T)
near = (place[:, None] >= place) & (place[:, None] - place < 5)
window = scaled_dot_product_attention(*heads, attn_mask=near, enable_gqa=True).transpose(1, 2)
facts = {
    "every block": gap(nsa(q, k, v, one, None, every, block_size=4), full),
    "window": gap(nsa(q, k, v, none, one, every, block_size=4, window_size=5), window),
    "sum": gap(nsa(q, k, v, 0.3 * one, 0.6 * one, every, block_size=4, window_size=5), 0.3 * full + 0.6 * window),
}
own = (place // 4)[None, :, None, None].expand(2, -1, 2, 1)
first = nsa(q, k, v, one, None, own, block_size=4)
facts["first of a block reads itself"] = gap(first[:, ::4], v[:, ::4].repeat_interleave(2, dim=2))
later = torch.full((2, T, 2, 1), 3)
facts["blocks to come"] = nsa(q, k, v, one, None, later, block_size=4)[:, :12].abs().max().item()

layer = NativeSparseAttention(16, 4, 2, 8, block_size=4, selected=2, window=3)
states = normal(1, T, 16)
alone = torch.cat([layer(states[:, start:end]) for start, end in ((0, 7), (7, 19), (19, 24))], dim=1)
facts["packed"] = gap(layer(states, torch.tensor([0, 7, 19, 24])), alone)
shorter = states.clone()
shorter[:, 15:] += 1
facts["later states"] = gap(layer(shorter)[:, :15], layer(states)[:, :15])
facts["experiments"] = [run(seed) for seed in range(6)]
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def facts():
    return facts_of("nsa", FACTS)


def test_with_every_block_it_is_full_attention(facts):
    assert facts["every block"] < 1e-5


def test_the_window_is_banded_attention(facts):
    assert facts["window"] < 1e-5


def test_branches_have_their_own_softmax_and_are_added(facts):
    assert facts["sum"] < 1e-5


def test_causality_holds_key_by_key(facts):
    assert facts["first of a block reads itself"] < 1e-6
    assert facts["blocks to come"] == 0
    assert facts["later states"] < 1e-6


def test_packed_sequences_are_as_if_alone(facts):
    assert facts["packed"] < 1e-5


def test_gates_learn_to_use_the_branch_that_finds_the_key(facts):
    for metrics in facts["experiments"]:
        branches, gates = metrics["other branches"], metrics["gates"]
        assert branches["selected/error"] < branches["window/error"]
        assert branches["selected/wanted_far"] > 0.8 > 0.01 > branches["window/wanted_far"]
        assert gates["error"] < branches["selected/error"] < gates["first_loss"]
        assert gates["far/selected"] > 0.8 > 0.2 > gates["far/window"]
        assert gates["near/window"] > gates["far/window"]


def test_the_whole_layer_learns_on(facts):
    # Every part has a gradient, compression and projections included.
    for metrics in facts["experiments"]:
        layer = metrics["whole layer"]
        assert layer["error"] < metrics["gates"]["error"]
        assert all(value > 0 for value in layer.values())
        assert metrics["evaluation"]["error"] < 0.6
