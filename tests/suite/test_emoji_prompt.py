"""emoji_prompt: the golden against similarities worked out by hand, and what the paper says of the attack."""

import pytest
from tests.suite.repository import facts_of

FACTS = """
import json
import numpy as np
from emojiprompt.embedding import embed
from emojiprompt.features import Level, format_level
from emojiprompt.similarity import compute_mean_cosine_similarity, parse_level
from experiment import run

VECTORS = {"east": [2, 0], "north": [0, 3], "west": [-1, 0], "north-east": [5, 5], "": [0, 0], "!": [0, 0]}
table = lambda texts: np.array([VECTORS[text] for text in texts], dtype=float)
line = lambda value, feature="wind": format_level(Level(feature, value))
similarity = lambda *pairs: compute_mean_cosine_similarity(pairs, table)

facts = {}
level = Level("work class", "Private, or public")
facts["round trip"] = parse_level("Hm.\\n" + format_level(level) + "\\nSo it is.") == level
facts["silent"] = parse_level("I can't say.") is None and parse_level("Feature: wind, Value:") is None
facts["equal"] = similarity((line("east"), line("east")))
facts["opposite"] = similarity((line("east"), line("west")))
facts["across"] = similarity((line("east"), line("north")))
facts["half-way"] = similarity((line("east"), line("north-east")))
facts["given up"] = similarity((line("east"), line("east")), (line("north"), "No idea."))
facts["mark"] = similarity((line("east"), line("east")), (line("north"), line("!")))
facts["often"] = similarity(*[(line("east"), line("east"))] * 3, (line("north"), line("east")))
facts["two features"] = similarity(
    *[(line("east"), line("east"))] * 3, (line("east", "current"), line("west")), (line("north"), line("east"))
)
texts = ["Never married", "never MARRIED!", "Sales", "..."]
vectors = embed(texts)
near = lambda place: bool((vectors[0] == vectors[place]).all())
facts["embedding"] = [near(1), near(2), bool(vectors[3].any())]
facts["experiments"] = [run(seed) for seed in range(6)]
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def facts():
    return facts_of("emoji_prompt", FACTS)


def test_a_level_comes_back_as_it_was_written(facts):
    assert facts["round trip"]
    assert facts["silent"]


def test_cosines_in_a_plane(facts):
    assert facts["equal"] == pytest.approx(1)
    assert facts["opposite"] == pytest.approx(-1)
    assert facts["across"] == pytest.approx(0)
    assert facts["half-way"] == pytest.approx(0.5**0.5)


def test_what_was_not_recovered_counts(facts):
    assert facts["given up"] == pytest.approx(1 / 2)
    assert facts["mark"] == pytest.approx(1 / 2)


def test_a_level_counts_once_however_often_it_occurs(facts):
    assert facts["often"] == pytest.approx((1 + 0) / 2)
    assert facts["two features"] == pytest.approx((1 - 1 + 0) / 3)


def test_the_embedding_reads_the_text(facts):
    assert facts["embedding"] == [True, False, False]


def test_symbols_give_away_less_than_perturbed_tokens_and_more_than_random_entities(facts):
    for metrics in facts["experiments"]:
        assert metrics["random entities"] + 0.1 < metrics["symbols"] < metrics["tokens"] - 0.05
