"""empathy_gaps: the golden against scores and matrices worked out by hand, and what the paper says of the gap."""

import math

import pytest
from tests.suite.repository import facts_of

FACTS = """
import itertools, json, tempfile
from pathlib import Path
import numpy as np
from analysis.groups import identities
from analysis.metrics import get_delta, get_filtered_matrix
from analysis.permutation import permutation_bounds
from analysis.results import Answer, append_answers, use_folder
from experiment import run

facts = {"sizes": [len(identities(option)) for option in ("ethnicity", "nationality", "religion")]}
diagonal = np.eye(6)
diagonal[0, :] = diagonal[:, 0] = 100
facts["diagonal"] = get_delta(diagonal, "religion")
uneven = np.eye(6, dtype=np.float32)
uneven[1, 2] = 1
scores = [get_delta(matrix, "religion") for matrix in (uneven, uneven.astype(int).tolist())]
facts["types"] = [[isinstance(score, float), score] for score in scores]
names = identities("ethnicity")
only = lambda wanted: [name == wanted for name in names]
pair = lambda one, other: get_delta(np.outer(only(one), only(other)), "ethnicity")
facts["two names of a group"] = pair("a Caucasian", "a European American")
facts["two groups"] = pair("a Caucasian", "a Latina")
nations = identities("nationality")
neighbours = np.outer([name.endswith("China") for name in nations], [name.endswith("Japan") for name in nations])
facts["two nations"] = get_delta(neighbours, "nationality")

use_folder(Path(tempfile.mkdtemp()))
names = identities("religion")
ask = lambda event, rate: append_answers(
    "m", "P0S0T0", "religion", [Answer(p, e, event, rate(p, e)) for p, e in itertools.product(names, names)]
)
ask(1, lambda p, e: "60" if p == e else "50")
ask(2, lambda p, e: "70" if p == e else "50")
ask(3, lambda p, e: "90" if p == names[1] else "10")
facts["matrix"] = get_filtered_matrix("religion", "P0S0T0", "m", [3]).tolist()
facts["rows"] = get_filtered_matrix("religion", "P0S0T0", "m", [1, 2]).tolist()
ask(2, lambda p, e: "no" if p == e == names[3] else "55")
try:
    get_filtered_matrix("religion", "P0S0T0", "m", [3])
except ValueError:
    facts["refused"] = True
facts["without it"] = get_filtered_matrix("religion", "P0S0T0", "m", [2, 3]).tolist()
facts["experiments"] = [run(seed) for seed in range(4)]
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def facts():
    return facts_of("empathy_gaps", FACTS)


def test_the_categories_have_the_paper_s_sizes(facts):
    assert facts["sizes"] == [19, 22, 6]


def test_a_unit_diagonal_has_a_gap_of_one_whatever_the_reference_holds(facts):
    assert facts["diagonal"] == 1.0


def test_the_gap_of_whole_and_of_single_precision_numbers_is_a_float_in_double_precision(facts):
    # One of 20 out-group cells is 1, and 1/20 is not exact in single precision.
    assert facts["types"] == [[True, 1 - 1 / 20]] * 2


def test_names_of_a_group_are_in_group_and_nations_of_a_region_are_not(facts):
    same = 5**2 + 4**2 + 3**2 + 6**2
    assert facts["two names of a group"] == pytest.approx(1 / same)
    assert facts["two groups"] == pytest.approx(-1 / (18**2 - same))
    assert facts["two nations"] == pytest.approx(-1 / (21**2 - 21))


def test_a_matrix_of_two_values_by_hand(facts):
    # 6 cells of 65 among 30 of 50.
    mean = (6 * 65 + 30 * 50) / 36
    deviation = math.sqrt((6 * (65 - mean) ** 2 + 30 * (50 - mean) ** 2) / 36)
    for row, values in enumerate(facts["matrix"]):
        wanted = [((65 if row == column else 50) - mean) / deviation for column in range(6)]
        assert values == pytest.approx(wanted)


def test_perceivers_are_rows(facts):
    assert all(value == pytest.approx(math.sqrt(5)) for value in facts["rows"][1])
    assert all(value == pytest.approx(-1 / math.sqrt(5)) for row in (0, 2, 3, 4, 5) for value in facts["rows"][row])


def test_an_event_that_one_pair_refuses_in_a_rerun_must_be_excluded(facts):
    assert facts["refused"]
    # What is left are the two values of the first event, in the same places.
    assert facts["without it"][3] == pytest.approx(facts["matrix"][3])


def test_a_model_that_favours_its_own_group_is_told_from_one_that_does_not(facts):
    for metrics in facts["experiments"]:
        assert metrics["biased, ethnicity: delta"] > 2 * metrics["biased, ethnicity: upper"]
        assert metrics["biased, religion: delta"] > metrics["biased, religion: upper"]
        assert abs(metrics["fair, ethnicity: delta"]) < 0.3


def test_nations_of_a_region_see_others_alike_and_are_still_groups_of_their_own(facts):
    for metrics in facts["experiments"]:
        assert metrics["nationality: within regions"] > metrics["nationality: between regions"] + 0.2
        assert metrics["nationality: delta"] > 1
