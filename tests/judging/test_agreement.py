"""Agreement against scikit-learn, against worked examples, and where it is not defined."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, confusion_matrix

from lmrbench.judging.agreement import agreement
from lmrbench.judging.scale import CATEGORIES


def between(low, value, high):
    return None not in (low, value, high) and low < value < high


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
    with pytest.raises(ValueError, match="one length"):
        agreement(["CC"], [], [])
