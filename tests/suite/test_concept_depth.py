"""concept_depth: the golden against probes fitted and measured by other libraries, and what the paper says of depth."""

import pytest
from tests.suite.repository import facts_of

FACTS = """
import json
import numpy as np
import statsmodels.api as sm
from scipy.stats import mannwhitneyu
from certainty import Probes, train_probes, training_losses
from config import DEPTH, DESCENT, PROBE
from depth import centre, measure_depth
from experiment import run
from probing import probing
from split import split_rows, standardize

facts = {}
generator = np.random.default_rng(0)

def drawn(count, width, layers, mistakes):
    labels = [np.where(generator.random(count) < mistakes, 1 - side, side) for side in (1, 0)]
    rows = [generator.normal(size=(count, 1 + layers, width)) + 0.3 * (2 * side[:, None, None] - 1) for side in labels]
    return rows, labels

def by_libraries(rows, labels):
    train, test = split_rows(len(labels), PROBE)
    known, tested = standardize(rows[train], rows[test])
    known, tested = sm.add_constant(known, has_constant="add"), sm.add_constant(tested, has_constant="add")
    # Statsmodels penalizes the mean of the negative log-likelihood by alpha / 2 times the squares.
    alpha = np.append(0.0, np.full(rows.shape[1], PROBE.penalty / len(train)))
    model = sm.GLM(labels[train], known, family=sm.families.Binomial())
    theta = model.fit_regularized(alpha=alpha, L1_wt=0.0, opt_method="bfgs").params
    scores, truth = tested @ theta, labels[test] == 1
    ones, zeros = scores[truth], scores[~truth]
    hits = (ones > 0).sum()
    f1 = 2 * hits / (2 * hits + (ones < 0).sum() + (zeros > 0).sum())
    area = mannwhitneyu(ones, zeros).statistic / (len(ones) * len(zeros))
    return [float(((scores > 0) == truth).mean()), float(f1), float(area)]

(positives, negatives), labels = drawn(120, 5, 3, 0.1)
facts["golden"] = probing([positives[:50], positives[50:]], [negatives], *labels, 3)
together = np.concatenate([positives, negatives])
facts["libraries"] = [by_libraries(together[:, layer], np.concatenate(labels)) for layer in (1, 2, 3)]

# One column that is the label, and one that is its opposite.
value = np.tile([3.0, 5.0], 50)
rows = value[:, None, None] * np.ones((1, 2, 1))
sign = (value > 4).astype(np.int64)
facts["plain"] = probing([rows], [rows], sign, sign, 1)
facts["turned"] = probing([rows], [rows], 1 - sign, 1 - sign, 1)
train, test = split_rows(200, PROBE)
facts["split"] = [len(train), len(test), sorted([*train.tolist(), *test.tolist()]) == list(range(200))]
try:
    probing([rows], [rows], np.ones(100, dtype=np.int64), np.ones(100, dtype=np.int64), 1)
except ValueError:
    facts["refused"] = True
# Descent on a small problem, against the same steps by differences of the loss.
rows, labels = generator.normal(size=(2, 30, 3)), generator.integers(0, 2, 30)
probes = train_probes(rows, labels)
facts["descent"] = [probes.weights.tolist(), probes.biases.tolist()]

def loss_of(theta):
    return training_losses(Probes(theta[:, :3], theta[:, 3]), rows, labels).sum()

theta, moved, away = np.zeros((2, 4)), np.zeros((2, 4)), 1e-5
for _ in range(DESCENT.steps):
    slope = np.zeros((2, 4))
    for place in np.ndindex(2, 4):
        change = np.zeros((2, 4))
        change[place] = away
        slope[place] = (loss_of(theta + change) - loss_of(theta - change)) / (2 * away)
    moved = DESCENT.momentum * moved + slope
    theta = theta - DESCENT.rate * moved
facts["by differences"] = [theta[:, :3].tolist(), theta[:, 3].tolist()]
facts["centre"] = [centre([0.5, 0.5, 0.5, 0.5]), centre([0.0, 0.0, 1.0, 0.0])]
facts["points"] = vars(measure_depth([0.5, 0.5, 0.56, 0.7, 0.9, 0.91], DEPTH))
facts["experiments"] = [run(seed) for seed in range(4)]
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def facts():
    return facts_of("concept_depth", FACTS)


def test_probes_agree_with_those_of_other_libraries(facts):
    for layer, wanted in enumerate(facts["libraries"]):
        assert [metric[layer] for metric in facts["golden"]] == pytest.approx(wanted, abs=1e-12)


def test_a_column_that_is_the_label_is_read_without_a_mistake_whichever_way_it_points(facts):
    for name in ("plain", "turned"):
        assert facts[name] == [[1.0], [1.0], [1.0]]


def test_four_fifths_are_trained_on_and_no_row_is_in_both_parts(facts):
    assert facts["split"] == [160, 40, True]


def test_rows_of_one_class_are_refused(facts):
    assert facts["refused"]


def test_probes_descend_along_the_slope_of_their_loss(facts):
    for part, wanted in zip(facts["descent"], facts["by differences"], strict=True):
        assert part == [pytest.approx(values, abs=1e-7) for values in wanted]


def test_the_centre_of_an_even_curve_is_the_mean_place(facts):
    assert facts["centre"] == pytest.approx([3 / 8, 2 / 4])


def test_points_of_depth_by_hand(facts):
    assert facts["points"]["jumping"] == pytest.approx(2 / 6)
    assert facts["points"]["converging"] == pytest.approx(5 / 6)
    assert facts["points"]["understood"] == pytest.approx(3 / 6)


def test_simple_concepts_are_read_in_shallow_layers_and_complex_ones_in_deep_layers(facts):
    for metrics in facts["experiments"]:
        rates = metrics["rates"]
        depths = {name: rates["depth"][f"full, {name}"] for name in ("hateeval", "cities", "coinflip", "strategyqa")}
        assert depths["hateeval"]["understood"] <= 1 / 8
        assert 0 < depths["cities"]["understood"] < 0.5
        assert depths["cities"]["peak"] > 0.9
        for name in ("coinflip", "strategyqa"):
            assert rates["mean"][f"full, {name}"]["acc"] < rates["mean"]["full, cities"]["acc"]
            assert depths[name]["understood"] > 0.5
        found = {name: values["log-probability"] for name, values in metrics["test rows"].items()}
        assert min(found["hateeval"], found["cities"], found["stsa"]) > max(found["coinflip"], found["strategyqa"])


def test_what_is_decided_by_one_word_is_known_from_the_first_layer_on(facts):
    for metrics in facts["experiments"]:
        losses = metrics["probes"]
        assert losses["hateeval"]["first loss"] < 0.6
        for name in ("cities", "strategyqa", "coinflip"):
            assert losses[name]["first loss"] > 0.64
            assert losses[name]["last loss"] < losses[name]["first loss"]
        assert metrics["test rows"]["hateeval"]["centre"] < metrics["test rows"]["cities"]["centre"]


def test_sixteen_bits_do_no_harm_and_noise_does(facts):
    for name in ("stsa", "cities"):
        variants = ("full", "noise", "16 bits")
        means = {
            kind: [run["rates"]["mean"][f"{kind}, {name}"]["acc"] for run in facts["experiments"]] for kind in variants
        }
        assert means["16 bits"] == pytest.approx(means["full"], abs=0.02)
        assert sum(means["noise"]) < sum(means["full"])
        for metrics in facts["experiments"]:
            found = {kind: metrics["ablations"][f"{kind}, {name}"] for kind in ("noise", "16 bits", "8 bits")}
            full = metrics["test rows"][name]["log-probability"]
            assert found["noise"]["log-probability"] < full
            assert found["16 bits"]["log-probability"] == pytest.approx(full, abs=0.02)
            assert found["16 bits"]["shift"] < 0.01 < found["8 bits"]["shift"] < found["noise"]["shift"]
