"""bertscore: the golden against hand-worked values, a one-to-one assignment and what the paper says of it."""

import math
from itertools import permutations

import pytest
from tests.suite.repository import facts_of

FACTS = """
import json, torch
from bert_score.idf import IdfWeights
from bert_score.scoring import greedy_cos_idf, score
from bert_score.encoder import ContextEncoder
from bert_score.tokenizer import WordPieceTokenizer
from experiment import run

def double(values):
    return torch.tensor(values, dtype=torch.float64)

one = torch.ones(1, 2)
facts = {}
# The reference's tokens point along the axes; the candidate's at 30 degrees to the first, and opposite to it.
reference = double([[[2.0, 0.0], [0.0, 5.0]]])
candidate = double([[[3 ** 0.5, 1.0], [-4.0, 0.0]]])
weights = double([[1.0, 3.0]]), double([[2.0, 0.5]])
facts["by hand"] = [x.item() for x in greedy_cos_idf(reference, one, weights[0], candidate, one, weights[1])]
facts["itself"] = [x.item() for x in greedy_cos_idf(reference, one, weights[0], reference, one, weights[0])]

generator = torch.Generator().manual_seed(5)
a, b = torch.randn(2, 1, 5, 8, generator=generator, dtype=torch.float64)
ones = torch.ones(1, 5)
facts["greedy"] = greedy_cos_idf(a, ones, ones, b, ones, ones)[0].item()
facts["cosines"] = torch.cosine_similarity(b[0].unsqueeze(1), a[0].unsqueeze(0), dim=-1).tolist()
padded = torch.cat([a, 9 * torch.ones(1, 3, 8)], dim=1), torch.cat([ones, torch.zeros(1, 3)], dim=1)
facts["alone"] = torch.stack(greedy_cos_idf(a, ones, ones, b, ones, ones)).flatten().tolist()
facts["padded"] = torch.stack(greedy_cos_idf(*padded, padded[1] + 1, b, ones, ones)).flatten().tolist()

hidden = torch.cat([a, torch.full((1, 3, 8), torch.nan)], dim=1), padded[1], torch.full((1, 8), torch.inf)
hidden[2][:, :5] = 1.0
facts["hidden"] = torch.stack(greedy_cos_idf(*hidden, b, ones, ones)).flatten().tolist()
half = [x.half() for x in (a, b)]
half[0][0, 2] = 0
scores = greedy_cos_idf(half[0], ones, ones, half[1], ones, ones)
facts["half"] = {"dtypes": [str(x.dtype) for x in scores], "scores": [x.item() for x in scores]}
facts["rounded"] = [x.item() for x in greedy_cos_idf(half[0].double(), ones, ones, half[1].double(), ones, ones)]

idf = IdfWeights([["[CLS]", "a", "b", "[SEP]"], ["[CLS]", "a", "a", "[SEP]"], ["[CLS]", "c", "[SEP]"]])
facts["idf"] = [idf(piece) for piece in ("a", "b", "new", "[CLS]")]
facts["pieces"] = WordPieceTokenizer(["garden", "s"]).tokenize("Gardens ox")
tokenizer, encoder = WordPieceTokenizer(["weather", "is", "cold", "the"]), ContextEncoder()
texts = ["the weather is cold", "is new"]
facts["identical"] = score(texts, texts, tokenizer, encoder, baseline=0.4).flatten().tolist()
facts["experiment"] = run(0)
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def facts():
    return facts_of("bertscore", FACTS)


def test_scores_by_hand(facts):
    # Best matches: cos 30 and 0 for the candidate's tokens, cos 30 and cos 60 for the reference's.
    high, low = math.sqrt(3) / 2, 0.5
    precision, recall = (2.0 * high + 0.5 * 0.0) / 2.5, (1.0 * high + 3.0 * low) / 4.0
    assert facts["by hand"] == pytest.approx([precision, recall, 2 * precision * recall / (precision + recall)])


def test_a_sentence_matches_itself(facts):
    assert facts["itself"] == pytest.approx([1.0, 1.0, 1.0])
    assert facts["identical"] == pytest.approx([1.0] * 6)


def test_greedy_matching_bounds_every_assignment_from_above(facts):
    cosines = facts["cosines"]
    assigned = max(sum(row[j] for row, j in zip(cosines, order, strict=True)) for order in permutations(range(5))) / 5
    assert facts["greedy"] >= assigned
    assert facts["greedy"] == pytest.approx(sum(map(max, cosines)) / 5)


def test_a_pair_in_a_batch_gets_what_it_would_get_alone(facts):
    assert facts["padded"] == pytest.approx(facts["alone"])


def test_what_padding_holds_has_no_influence_even_if_it_is_not_finite(facts):
    assert facts["hidden"] == pytest.approx(facts["alone"])


def test_half_precision_stays_half_and_an_embedding_of_zeros_is_similar_to_nothing(facts):
    assert facts["half"]["dtypes"] == ["torch.float16"] * 3
    assert facts["half"]["scores"] == pytest.approx(facts["rounded"], abs=2e-3)


def test_rare_pieces_weigh_more_and_unknown_ones_most(facts):
    assert facts["idf"] == pytest.approx([math.log(4 / 3), math.log(4 / 2), math.log(4), 0.0])


def test_unknown_words_are_split(facts):
    assert facts["pieces"] == ["[CLS]", "garden", "##s", "o", "##x", "[SEP]"]


def test_the_experiment_shows_that_soft_matches_agree_better_with_judgements(facts):
    rates = facts["experiment"]["rates"]
    assert rates["uniform/f/kendall"] > rates["exact match/kendall"] + 0.1
    assert 0 < facts["experiment"]["baseline"]["baseline"] < 1


def test_the_experiment_shows_that_importance_weights_help_recall(facts):
    agreement = facts["experiment"]["agreement"]
    for level in ("segments", "systems"):
        assert agreement[f"idf/recall/{level}"] > agreement[f"uniform/recall/{level}"]
