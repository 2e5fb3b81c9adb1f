"""knowledge_source: helpers and goldens against values worked out by hand and slow loops, and what the paper finds."""

import math

import pytest
from tests.suite.repository import facts_of

FACTS = """
import json
import numpy as np
import pandas as pd
from experiment import run
from src.classification.classifier import perform_classification_by_relation_group
from src.classification.probe import fit_probe
from src.config import activation_column
from src.data import generate_counter_parametric_knowledge_dataset, remove_object_subject_overlap
from src.data import return_entity_overlap_between_relation_groups
from src.entities import jaro_winkler
from src.evaluation import success_rates
from src.knowledge_base import relations_with_gen_desc
from src.parametric_knowledge import is_parametric_object_not_in_the_prompt

facts = {}
pairs = [("MARTHA", "MARHTA"), ("DIXON", "DICKSONX"), ("DWAYNE", "DUANE"), ("abc", "xyz"), ("a", "a")]
facts["jaro_winkler"] = [[jaro_winkler(*pair), jaro_winkler(*pair[::-1])] for pair in pairs]

pairs = [("Princeton University Press", "Princeton"), ("Niger", "Nigeria"), ("Croatia", "Croatian")]
pairs.append(("Microsoft", "Redmond"))
frame = pd.DataFrame(pairs, columns=["statement_subject", "parametric_object"], index=[5, 6, 7, 9])
facts["left"] = remove_object_subject_overlap(frame).index.tolist()

# Figure 3: the languages of Virginia, of which three are least likely.
languages = {"English": 0.7, "French": 0.15, "Croatian": 0.06, "Serbian": 0.03, "Swedish": 0.02}
frame = pd.DataFrame(
    {
        "statement_subject": [f"Subject {number}" for number in range(5)],
        "rel_lemma": "official-language",
        "relation_group_id": "geo",
        "relation_text": "has the official language",
        "parametric_object": list(languages),
        "parametric_object_token_ids": [[number] for number in range(5)],
        "first_token_log_probas": [np.log(list(languages.values())) for _ in languages],
    }
)
counter = generate_counter_parametric_knowledge_dataset(frame, 3)
facts["virginia"] = counter[counter.parametric_knowledge_index == 0].counter_knowledge_object.tolist()
facts["serbia"] = counter[counter.parametric_knowledge_index == 3].counter_knowledge_object.tolist()

names = ["Paris", "the louvre", "Madrid", "Facebook", "America", "Libero", "Microsoft"]
table = relations_with_gen_desc()
facts["shown"] = [name for name in names if not is_parametric_object_not_in_the_prompt(name, table)]

rng = np.random.default_rng(0)
letters = np.array(list("abcdefghijklmnop"))
frame = pd.DataFrame(rng.choice(letters, (40, 2)), columns=["statement_subject", "parametric_object"])
frame["relation_group_id"] = rng.choice(["x", "y", "z"], 40)
overlap = return_entity_overlap_between_relation_groups(frame)
rows = frame.to_dict("records")
slow = {one: {other: 0 for other in overlap} for one in overlap}
for row in rows:
    for other in overlap:
        slow[row["relation_group_id"]][other] += any(
            row[a] == second[b]
            for second in rows if second["relation_group_id"] == other
            for a in ("statement_subject", "parametric_object") for b in ("statement_subject", "parametric_object")
        )
facts["overlaps"] = [overlap, slow]

# The gradient of the penalised likelihood is 0 at a fitted probe.
features, labels = rng.normal(size=(50, 3)), rng.integers(0, 2, 50)
probe = fit_probe(features, labels)
inputs = (features - probe.mean) / probe.scale
residuals = 1 / (1 + np.exp(-(inputs @ probe.weights + probe.bias))) - labels
facts["gradient"] = np.abs(inputs.T @ residuals + 30 * probe.weights).max()

# What tells the sources apart in one layer is noise in the other.
sources = rng.choice(["CK", "CK", "PK"], 90)
cells = [np.stack([rng.normal(size=4), rng.normal(size=4) + 6 * (source == "PK")]) for source in sources]
column = activation_column("mhsa", "first")
frame = pd.DataFrame({"knowledge_source": sources, "relation_group_id": ["x", "y", "z"] * 30, column: cells})
frame["statement_subject"] = [f"s{number}" for number in range(90)]
frame["parametric_object"] = [f"o{number}" for number in range(90)]
metrics = perform_classification_by_relation_group(frame, False, False, True, "first")
facts["by layer"] = {layer: rate for layer, (rate, _) in success_rates(metrics).items()}
counts = pd.crosstab(frame.relation_group_id, frame.knowledge_source)
facts["counts"] = [[item["nb_test_examples"], item["nb_train_examples"]] for item in metrics if item["layer"] == 1]
facts["smaller"] = [[2 * int(counts.PK[g]), 2 * int(counts.PK.sum() - counts.PK[g])] for g in ("x", "y", "z")]
items = [{"layer": 1, "success_rate": p, "nb_test_examples": n} for p, n in ((0.5, 100), (0.8, 300))]
facts["success"] = success_rates(items)[1]
facts["experiments"] = [run(seed) for seed in range(3)]
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def facts():
    return facts_of("knowledge_source", FACTS)


def test_similarities_are_the_published_ones_in_either_order(facts):
    for (one, other), wanted in zip(facts["jaro_winkler"], (0.9611, 0.8133, 0.84, 0.0, 1.0), strict=True):
        assert one == other == pytest.approx(wanted, abs=1e-4)


def test_the_paper_s_examples_of_telling_subjects_are_removed(facts):
    assert facts["left"] == [9]


def test_the_three_least_likely_languages_contradict_english(facts):
    assert facts["virginia"] == ["Swedish", "Serbian", "Croatian"]
    assert facts["serbia"] == ["Swedish", "Croatian", "French"]


def test_an_object_may_be_in_the_example_of_any_relation_but_only_in_the_first(facts):
    assert facts["shown"] == ["Paris", "the louvre", "Facebook", "Libero"]


def test_the_overlap_is_that_of_a_slow_loop(facts):
    one, other = facts["overlaps"]
    assert one == other
    assert list(one) == list(other)


def test_probes_are_fitted_and_tell_only_what_their_layer_tells(facts):
    assert facts["gradient"] < 1e-6
    assert facts["by layer"]["2"] > 0.95
    assert abs(facts["by layer"]["1"] - 0.5) < 0.25
    assert facts["counts"] == facts["smaller"]


def test_error_bars_by_hand(facts):
    rate, margin = facts["success"]
    assert rate == pytest.approx(0.725)
    # The standard errors are 0.05 and 0.0231, with shares of a quarter and three quarters.
    assert margin == pytest.approx(1.96 * (0.0125**2 + 0.75**2 * 0.16 / 300) ** 0.5)


def test_the_relation_tells_the_source_and_the_first_token_hardly(facts):
    def mean(position, layers):
        names = [f"{position}, mlp, layer {layer}: success rate" for layer in layers]
        return sum(stages["rates"][name] for stages in facts["experiments"] for name in names) / (3 * len(names))

    assert mean("relation_query", (2, 3, 4)) > mean("first", (1, 2, 3, 4)) + 0.1
    assert abs(mean("relation_query", (1,)) - 0.5) < 0.1
    for stages in facts["experiments"]:
        rates, answers = stages["rates"], stages["answers"]
        assert rates["answers of source CK"] > 0
        assert rates["answers of source PK"] > 0
        assert rates["subjects of PK are known better"] > 0.8
        assert answers["popularity of PK"] > answers["popularity of CK"]


def test_the_experiment_logs_stages_of_numbers_that_are_finite(facts):
    stages = ["knowledge base", "model", "knowledge", "answers", "probes", "success rates", "rates"]
    for results in facts["experiments"]:
        assert list(results) == stages
        assert all(math.isfinite(value) for stage in results.values() for value in stage.values())
