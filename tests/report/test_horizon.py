"""The reproduction horizon: estimates against known curves, comparisons, and the choice of the next task."""

import json
import math
import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

from lmrbench.cli import app
from lmrbench.report.horizon import LADDER, Outcome, compare, horizon, most_informative

PAPERS = [f"paper{number}" for number in range(10)]


def answers(k50, slope=2.5, spread=0.3, seed=0, each=3):
    """Answers of a system with a known curve, to each number of changes so many times."""
    generator = np.random.default_rng(seed)
    effects = dict(zip(PAPERS, generator.normal(0, spread, len(PAPERS)), strict=True))
    found = []
    for number, changes in enumerate(LADDER * each):
        paper = PAPERS[number % len(PAPERS)]
        odds = slope * (math.log(k50 / changes) + effects[paper])
        found.append(Outcome(paper, changes, float(generator.random() < 1 / (1 + math.exp(-odds)))))
    return found


@pytest.mark.parametrize("k50", [1.5, 3, 8])
def test_a_known_horizon_lies_in_most_intervals(k50):
    found = [horizon("system", answers(k50, seed=seed)) for seed in range(20)]

    assert sum(item.low <= k50 <= item.high for item in found) >= 17
    assert np.median([item.k50 for item in found]) == pytest.approx(k50, rel=0.3)


def test_more_answers_narrow_the_interval():
    few, many = (horizon("system", answers(3, each=each)) for each in (2, 12))

    assert math.log(many.high / many.low) < 0.7 * math.log(few.high / few.low)
    assert (few.tasks, many.tasks) == (14, 84)
    assert few.papers == many.papers == 10


def test_the_shares_fall_with_the_number_of_changes():
    shares = list(horizon("system", answers(3)).shares.values())

    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.7
    assert shares[-1] < 0.2


@pytest.mark.parametrize(("solved", "low", "high"), [(1.0, 6, 32), (0.0, 0.25, 1.5)])
def test_a_system_that_solves_all_or_nothing_has_a_horizon_at_the_end_of_the_scale(solved, low, high):
    found = horizon("system", [Outcome(paper, changes, solved) for paper in PAPERS for changes in LADDER])

    assert low <= found.low < found.k50 < found.high <= high * 1.03


def test_no_answers_leave_the_prior():
    found = horizon("system", [])

    assert found.k50 == pytest.approx(math.sqrt(0.25 * 32))
    assert (found.low, found.high) == pytest.approx((0.28, 28.5), rel=0.03)


def test_papers_that_differ_widen_the_interval():
    """Answers that agree within a paper and not between papers say less than as many of one paper each."""
    alike = [Outcome(f"paper{number}", 4, float(number % 2)) for number in range(40)]
    clustered = [Outcome(f"paper{number % 4}", 4, float(number % 2)) for number in range(40)]
    one, other = horizon("alike", alike), horizon("clustered", clustered)

    assert math.log(other.high / other.low) > 1.2 * math.log(one.high / one.low)


def test_two_systems_are_compared_over_the_same_papers():
    systems = {"weak": answers(1.5, seed=1), "strong": answers(6, seed=2)}
    (found,) = compare(systems)

    assert (found.first, found.second) == ("weak", "strong")
    assert found.low < 0.25 < found.high < 1
    assert found.p < 0.01
    (same,) = compare({"one": systems["weak"], "other": systems["weak"]})
    assert same.ratio == pytest.approx(1, abs=0.01)
    assert same.p == pytest.approx(1, abs=0.01)


def test_systems_of_which_one_solves_all_and_the_other_nothing_are_compared_without_a_warning():
    def answered(solved):
        return [Outcome(paper, changes, solved) for paper in PAPERS[:3] for changes in LADDER * 4]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (found,) = compare({"all": answered(1.0), "nothing": answered(0.0)})

    assert 4 < found.low < found.ratio < found.high < 129
    assert found.p < 0.001


def test_three_systems_give_three_comparisons_and_one_gives_none():
    systems = {name: answers(k50) for name, k50 in (("a", 1), ("b", 2), ("c", 4))}

    assert [(item.first, item.second) for item in compare(systems)] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert compare({"a": systems["a"]}) == []


def test_an_effect_of_papers_that_both_systems_share_does_not_widen_their_ratio():
    """Half of the papers are easy and half are hard, for both systems."""

    def of_system(shift):
        easy = [Outcome(f"easy{number}", 4, 1.0) for number in range(10)]
        return [*easy, *(Outcome(f"hard{number}", 4, float(number < shift)) for number in range(10))]

    shared = {"one": of_system(2), "other": of_system(3)}
    separate = {
        "one": shared["one"],
        "other": [item._replace(paper=f"{item.paper} of its own") for item in shared["other"]],
    }
    (same,), (apart,) = compare(shared), compare(separate)

    assert math.log(same.high / same.low) < math.log(apart.high / apart.low)


def test_the_next_tasks_are_near_the_horizon_and_spread_over_papers():
    weak, strong = (
        [Outcome(paper, changes, solved(changes)) for paper in PAPERS[:4] for changes in LADDER]
        for solved in (lambda changes: float(changes < 2), lambda changes: float(changes < 7))
    )
    after_weak, after_strong = most_informative(weak, PAPERS, 6), most_informative(strong, PAPERS, 6)

    assert [paper for paper, _ in after_weak] == PAPERS[4:]
    assert {changes for _, changes in after_weak} <= {1, 2, 3}
    assert {changes for _, changes in after_strong} <= {4, 6, 8, 12}


def test_a_report_of_forensic_tasks_shows_horizons_and_compares_them(grade, write_run, tmp_path):
    solved = {"good": 4, "poor": 1}
    write_run(
        tmp_path / "run",
        [
            grade(system, f"{paper}/forensic_{changes}_0", changes <= most)
            for system, most in solved.items()
            for paper in ("dpo", "cad", "spin")
            for changes in (1, 3, 6)
        ],
    )

    page = tmp_path / "report.html"
    printed = CliRunner().invoke(app, ["report", str(tmp_path / "run"), "--full", "--html", str(page)]).stdout
    assert "Reproduction horizon" in printed
    assert "good over poor" in printed
    assert "Reproduction horizons" in page.read_text()
    found = json.loads(CliRunner().invoke(app, ["report", str(tmp_path / "run"), "--json"]).stdout)
    good, poor = found["horizons"]
    assert (good["system"], good["tasks"], good["papers"]) == ("good", 9, 3)
    assert poor["k50"] < good["k50"]
    assert found["horizon_ratios"][0]["ratio"] > 1


def test_a_report_of_other_tiers_shows_no_horizon(grade, write_run, tmp_path):
    write_run(tmp_path / "run", [grade("me", "a/one", True)])

    printed = CliRunner().invoke(app, ["report", str(tmp_path / "run")]).stdout
    assert "horizon" not in printed
