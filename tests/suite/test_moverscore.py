"""moverscore: the golden against distances worked out by hand, another solver, and what the paper says of variants."""

import math
import statistics

import pytest
from tests.suite.repository import facts_of

FACTS = """
import itertools, json, torch
from moverscore.score import word_mover_score
from moverscore.transport import optimal_flow
from experiment import run

def text(vectors, layers=1):
    # One hidden state a word; all layers alike, so that minimum, mean and maximum are.
    return torch.tensor(vectors, dtype=torch.float64).expand(layers, 1, -1, -1)

def score(ref, hyp, ref_idf, hyp_idf, n_gram=1, layers=1):
    names = lambda values: [[f"w{n}" for n in range(len(values))]]
    (value,) = word_mover_score(
        text(ref, layers), torch.tensor([ref_idf], dtype=torch.float64), names(ref),
        text(hyp, layers), torch.tensor([hyp_idf], dtype=torch.float64), names(hyp), n_gram)
    return value

facts = {}
facts["orthogonal"] = score([[2.0, 0.0]], [[0.0, 3.0]], [1.0], [1.0])
facts["opposite"] = score([[2.0, 0.0]], [[-1.0, 0.0]], [1.0], [5.0])
facts["same in another order"] = score([[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]], [1.0, 2.0], [2.0, 1.0])
facts["bigrams in another order"] = score(
    [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0], 2)
# Three quarters of the mass lie on the first word of one text, a half on that of the other: a quarter has to move.
facts["a quarter moves"] = score([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0], [1.0, 1.0])
pair = ([[2.0, 1.0]], [[1.0, 3.0]], [1.0], [1.0])
facts["layers alike"] = score(*pair, layers=8) - score(*pair)

# Layers whose mean bfloat16 can't hold.
states = torch.tensor([[1.0, 2.0], [1.0078125, 2.015625], [3.0, -1.0]]).reshape(3, 1, 1, 2)
one, other = (states, torch.ones(1, 1), [["w"]]), (states.flip(-1), torch.ones(1, 1), [["w"]])
scores = [word_mover_score(*[[x.to(dtype) if torch.is_tensor(x) else x for x in side][i] for side in (one, other)
          for i in range(3)])[0] for dtype in (torch.float64, torch.bfloat16, torch.float16)]
facts["dtypes"] = scores

generator = torch.Generator().manual_seed(0)
gaps = []
for _ in range(5):
    ref, hyp = torch.randn(2, 5, 4, generator=generator, dtype=torch.float64)
    equal = [1.0] * 5
    unit = [x / x.norm(dim=1, keepdim=True) for x in (ref, hyp)]
    cost = torch.cdist(unit[1], unit[0])
    # With equal weights on both sides some one-to-one assignment is optimal.
    best = min(sum(float(cost[i, j]) for i, j in enumerate(order)) for order in itertools.permutations(range(5))) / 5
    gaps.append(abs(1 - best - score(ref.tolist(), hyp.tolist(), equal, equal)))
facts["gap to the best assignment"] = max(gaps)
facts["experiments"] = [run(seed) for seed in range(8)]
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def facts():
    return facts_of("moverscore", FACTS)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("orthogonal", 1 - math.sqrt(2)),
        ("opposite", -1.0),
        ("same in another order", 1.0),
        ("a quarter moves", 1 - math.sqrt(2) / 4),
        ("layers alike", 0.0),
    ],
)
def test_distances_worked_out_by_hand(facts, name, expected):
    assert facts[name] == pytest.approx(expected, abs=1e-9)


def test_half_precision_states_are_aggregated_without_loss(facts):
    assert facts["dtypes"][1:] == pytest.approx(facts["dtypes"][:1] * 2, abs=1e-9)


def test_bigrams_mind_the_order_that_words_do_not(facts):
    # The first bigrams are the same sum, the second ones (0, 1) + (1, 1) and (1, 0) + (1, 1) are not.
    angle = math.acos((1 * 2 + 2 * 1) / 5)
    distances = 2 * math.sin(angle / 2)
    assert facts["bigrams in another order"] == pytest.approx(1 - distances / 2, abs=1e-9)


def test_with_equal_weights_it_is_the_best_assignment(facts):
    assert facts["gap to the best assignment"] < 1e-9


def test_variants_agree_with_judges_better_than_overlap_does(facts):
    agreement = [metrics["agreement"] for metrics in facts["experiments"]]
    mean = {name: statistics.mean(found[name] for found in agreement) for name in ("overlap", "wmd_1", "wmd_1_static")}
    assert mean["wmd_1"] > max(mean["overlap"], mean["wmd_1_static"]) + 0.1
