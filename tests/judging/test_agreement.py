"""Agreement compared with scikit-learn and with published examples, and its undefined cases."""

from typing import Any

import numpy as np
import pytest
from inspect_ai.scorer import SampleScore, Score, krippendorff_alpha
from sklearn.metrics import cohen_kappa_score, confusion_matrix
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from lmrbench.judging.agreement import ONE_PAPER, agreement, binary, reliability
from lmrbench.runs.records import CATEGORIES

# Krippendorff (2011): four observers, twelve units, "." for a missing label.
OBSERVERS = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
# Fleiss (1971): how many of six psychiatrists gave each of 30 patients each of five diagnoses.
DIAGNOSES = """
00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031
00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""


def between(low, value, high):
    return None not in (low, value, high) and low < value < high


def several(seed):
    """Return the labels of four raters for forty items of ten papers, as numbers and as categories."""
    places = np.random.default_rng(seed).choice(3, size=(40, 4), p=[0.5, 0.2, 0.3])
    ratings = [[CATEGORIES[place] for place in row] for row in places]
    return places, ratings, [f"p{place // 4}" for place in range(40)]


@pytest.mark.parametrize("seed", range(5))
def test_as_scikit_learn_has_it(seed):
    generator = np.random.default_rng(seed)
    first, second = generator.choice(CATEGORIES, size=(2, 60))
    second[:20] = first[:20]
    found = agreement(list(first), list(second), [f"p{place // 3}" for place in range(60)])
    assert found.kappa == pytest.approx(cohen_kappa_score(first, second))
    assert found.table == tuple(map(tuple, confusion_matrix(first, second, labels=list(CATEGORIES))))
    assert found.same.count == (first == second).sum()
    assert found.conflicts.count == sum({one, two} == {"CC", "LI"} for one, two in zip(first, second, strict=True))
    assert between(found.kappa_low, found.kappa, found.kappa_high)
    assert between(found.same.low, found.same.share, found.same.high)


def test_the_interval_counts_papers_and_not_answers():
    first = ["CC"] * 10 + ["LI"] * 10
    second = ["CC"] * 10 + ["CC"] * 10
    few = agreement(first, second, ["one"] * 10 + ["two"] * 10).same
    many = agreement(first, second, [str(place) for place in range(20)]).same
    assert (few.low, few.high) == (0.0, 1.0)
    assert between(0.2, many.low, many.high)
    assert between(many.low, many.high, 0.8)


def test_what_is_not_defined_is_none():
    nothing = agreement([], [], [])
    assert nothing.kappa is None
    assert nothing.same.share is None
    assert nothing.same.of == 0
    all_alike = agreement(["CC"] * 4, ["CC"] * 4, ["a", "a", "b", "b"])
    assert all_alike.kappa is None
    assert all_alike.kappa_low is None
    assert all_alike.same.share == 1.0
    with pytest.raises(ValueError, match="differ in length"):
        agreement(["CC"], [], [])
    assert (nothing.why, all_alike.why) == (
        "no item was labelled by both raters",
        "both raters labelled every item CC",
    )


def test_one_paper_has_no_interval():
    found = agreement(["CC", "LI", "CC"], ["CC", "LI", "LI"], ["a"] * 3)
    assert found.kappa is not None
    assert (found.kappa_low, found.same.low, found.why) == (None, None, ONE_PAPER)
    many = reliability([["CC", "CC"], ["LI", "CC"]], ["a", "a"])
    assert many.fleiss.value is not None
    assert {(item.low, item.high, item.why) for item in (many.fleiss, many.alpha_nominal)} == {(None, None, ONE_PAPER)}


def test_the_example_of_fleiss():
    ratings = [
        [category for category, count in zip("abcde", row, strict=True) for _ in range(int(count))]
        for row in DIAGNOSES.split()
    ]
    found = reliability(ratings, [str(place) for place in range(30)], scale="abcde")
    assert found.fleiss.value == pytest.approx(0.430, abs=5e-4)
    assert between(found.fleiss.low, found.fleiss.value, found.fleiss.high)
    assert (found.raters, found.items, found.complete, found.labels) == (6, 30, 30, 180)


def test_the_example_of_krippendorff():
    ratings = [[None if said == "." else said for said in unit] for unit in zip(*OBSERVERS, strict=True)]
    found = reliability(ratings, [str(place) for place in range(12)], scale="12345")
    assert found.alpha_nominal.value == pytest.approx(0.743, abs=5e-4)
    assert found.alpha_ordinal.value == pytest.approx(0.815, abs=5e-4)
    # The last unit has a single label and does not count.
    assert (found.raters, found.items, found.complete, found.labels) == (4, 11, 8, 40)


@pytest.mark.parametrize("seed", range(3))
def test_many_raters_as_statsmodels_has_it(seed):
    places, ratings, papers = several(seed)
    assert reliability(ratings, papers).fleiss.value == pytest.approx(fleiss_kappa(aggregate_raters(places)[0]))


@pytest.mark.parametrize("seed", range(3))
def test_missing_labels_as_inspect_has_them(seed):
    places, ratings, papers = several(seed)
    missing = np.random.default_rng(seed).random((40, 4)) < 0.4
    known = [
        [None if gone else label for label, gone in zip(row, holes, strict=True)]
        for row, holes in zip(ratings, missing, strict=True)
    ]
    found = reliability(known, papers)
    scores = [SampleScore(score=Score(value=places[row][~missing[row]].tolist())) for row in range(40)]
    nominal: Any = krippendorff_alpha("nominal")
    ordinal: Any = krippendorff_alpha("ordinal")
    assert found.alpha_nominal.value == pytest.approx(nominal(scores))
    assert found.alpha_ordinal.value == pytest.approx(ordinal(scores))


def test_of_many_raters_what_is_not_defined_says_why():
    reasons = {
        (): "no item was labelled by two raters",
        (("CC",), ("LI",)): "there is only one rater",
        (("CC", None), (None, "LI")): "no item was labelled by two raters",
        (("LC", "LC"), ("LC", None)): "every label is LC",
    }
    for ratings, reason in reasons.items():
        found = reliability(ratings, [str(place) for place in range(len(ratings))])
        for item in (found.fleiss, found.alpha_nominal, found.alpha_ordinal):
            assert (item.value, item.low, item.high, item.why) == (None, None, None, reason)
    partly = reliability([["CC", "LI", None], [None, "LI", "LI"]], ["a", "b"])
    assert (partly.fleiss.value, partly.fleiss.why) == (None, "no item was labelled by all 3 raters")
    assert partly.alpha_nominal.value is not None
    with pytest.raises(ValueError, match="not on the scale"):
        reliability([["CC", "XX"]], ["a"])


def test_ordinal_alpha_minds_how_far_labels_are_apart_and_binary_does_not():
    papers = [str(place) for place in range(6)]
    near = [["CC", "CC"], ["LI", "LI"], ["LC", "LI"], ["LI", "LC"], ["CC", "CC"], ["LC", "LC"]]
    found = reliability(near, papers)
    assert between(-1, found.alpha_nominal.value, found.alpha_ordinal.value)
    assert binary(["CC", "LC", "LI"]) == ["CC", "not CC", "not CC"]
    collapsed = reliability([binary(row) for row in near], papers, scale=("CC", "not CC"))
    assert (collapsed.alpha_nominal.value, collapsed.alpha_ordinal.value) == (1, 1)
