"""pass@k and pass^k, against every choice of k answers and by simulation."""

from itertools import combinations

import numpy as np
import pytest

from lmrbench.report.measures.attempts import attempts, pass_at_k, pass_hat_k


@pytest.mark.parametrize(("answers", "passes"), [(1, 0), (1, 1), (5, 2), (7, 0), (7, 6), (8, 8)])
def test_both_count_all_choices_of_k_answers(answers, passes):
    outcomes = [True] * passes + [False] * (answers - passes)
    for k in range(1, answers + 1):
        choices = list(combinations(outcomes, k))
        assert pass_at_k(answers, passes, k) == pytest.approx(sum(map(any, choices)) / len(choices))
        assert pass_hat_k(answers, passes, k) == pytest.approx(sum(map(all, choices)) / len(choices))


def test_both_are_unbiased():
    generator = np.random.default_rng(0)
    n, k, chance = 10, 3, 0.3
    drawn = generator.binomial(n, chance, 20_000)
    assert np.mean([pass_at_k(n, int(c), k) for c in drawn]) == pytest.approx(1 - (1 - chance) ** k, abs=0.01)
    assert np.mean([pass_hat_k(n, int(c), k) for c in drawn]) == pytest.approx(chance**k, abs=0.01)


@pytest.mark.parametrize(("answers", "passes", "k"), [(3, 1, 4), (3, 1, 0), (3, 4, 1), (0, 0, 1)])
def test_more_than_was_answered_is_refused(answers, passes, k):
    with pytest.raises(ValueError, match=f"k = {k}"):
        pass_at_k(answers, passes, k)


def test_k_goes_as_far_as_every_task_has_answers(grade):
    grades = [grade("me", "a/one", sample == 0, sample) for sample in range(4)]
    grades += [grade("me", "b/one", True, sample) for sample in range(3)]
    grades += [grade("you", "a/one", True)]

    found = attempts(grades)

    assert {system: [item.k for item in items] for system, items in found.items()} == {"me": [1, 2, 3], "you": [1]}
    one, two, three = found["me"]
    assert (one.tasks, one.pass_at_k.mean, one.pass_hat_k.mean) == (2, 0.625, 0.625)
    # Of four answers one passes: three of six choices of two, and three of four choices of three, hold it.
    assert (two.pass_at_k.mean, two.pass_hat_k.mean) == ((0.5 + 1) / 2, (0 + 1) / 2)
    assert (three.pass_at_k.mean, three.pass_at_k.low, three.pass_at_k.high) == (0.875, 0.75, 1)
