"""Rates by date: tasks since a date, rates before and since a cutoff, and by month."""

import json
from datetime import date
from pathlib import Path

import pytest
from tests import toy
from typer.testing import CliRunner

from lmrbench.cli import app
from lmrbench.errors import UsageError
from lmrbench.report.build import build
from lmrbench.report.combine import together
from lmrbench.report.findings import kept_since, split
from lmrbench.report.measures.dates import by_month, splits
from lmrbench.report.statistics import Estimate, estimate, group_difference
from lmrbench.runs.folder import read_run

CUTOFF = date(2020, 2, 1)
# The paper "undated" has no date.
DATES = {"a": "2019-12-24", "b": "2020-01", "c": "2020-02", "d": "2020-02-10", "e": "2020-02-10", "undated": ""}


@pytest.fixture(scope="module")
def dated_suite(tmp_path_factory):
    """A suite of papers with the dates of DATES, each with one task."""
    folder = tmp_path_factory.mktemp("suites") / "dated"
    toy.copy_to(folder)
    for slug, day in DATES.items():
        table = toy.add_paper(folder, slug) / "task.toml"
        line = f'\npublished = "{day}"\n' if day else "\n"
        table.write_text(table.read_text().replace("\n\n[[task]]", f"{line}\n[[task]]", 1))
    return folder


@pytest.fixture
def found(dated_suite, grade, write_run, tmp_path):
    """The findings of two systems; "me" is right before the cutoff in one of two tasks, then in one of three."""
    right = {"me": "ac", "you": "abcde"}
    grades = [grade(system, f"{slug}/blend", slug in right[system]) for system in right for slug in DATES]
    run = write_run(tmp_path / "run", grades)
    return together([read_run(Path(run))], dated_suite)


def test_only_tasks_since_a_date_are_kept_and_expected(found):
    kept = kept_since(found, CUTOFF)

    # The first day of a month counts.
    assert set(kept.tiers) == kept.expected == {"c/blend", "d/blend", "e/blend"}
    assert {item.task for item in kept.grades} == kept.expected
    assert kept.warnings[-1] == "--since: left out 1 task without a date; the first is undated/blend"
    assert build(kept).numbers["rates"]["all"]["me"].correct == pytest.approx(1 / 3)


def test_a_date_after_all_tasks_is_an_error_that_names_the_newest(found):
    with pytest.raises(UsageError, match="the newest one is from 2020-02-10"):
        kept_since(found, date(2021, 1, 1))


def test_rates_are_split_at_a_date(found):
    me, you = (item for item in splits(found, CUTOFF) if item.group == "all" and item.answers == "correct")

    assert (me.before.tasks, me.before.papers, me.before.rate.mean) == (2, 2, 0.5)
    assert (me.since.tasks, me.since.rate.mean) == (3, pytest.approx(1 / 3))
    assert me.difference.mean == pytest.approx(1 / 3 - 1 / 2)
    assert me.difference.low is not None
    assert me.difference.high is not None
    assert -1 <= me.difference.low < me.difference.mean < me.difference.high <= 1
    # "you" is always right, so draws would say that its rates cannot differ.
    assert you.difference == Estimate(mean=0, low=None, high=None)


def width(value: Estimate) -> float:
    assert value.low is not None
    assert value.high is not None
    return value.high - value.low


def test_an_interval_of_a_difference_is_wider_than_those_of_its_sides():
    first = {f"a{number}/t": float(number < 6) for number in range(12)}
    second = {f"b{number}/t": float(number < 3) for number in range(12)}

    difference = group_difference(first, second)

    assert difference.mean == -0.25
    # Independent, so the squares of the widths add up.
    sides = width(estimate(first)) ** 2 + width(estimate(second)) ** 2
    assert width(difference) == pytest.approx(sides**0.5, rel=0.15)
    single = group_difference({"a/t": 1.0, "a/u": 0.0}, second)
    assert single == Estimate(mean=-0.25, low=None, high=None)


def test_a_report_has_the_split_if_it_is_asked_for_and_months_in_order(found):
    assert list(by_month(found)) == ["2019-12", "2020-01", "2020-02"]
    assert by_month(found)["2020-02"]["me"].tasks == 3
    whole = build(found)
    assert "dates" not in {item.name for item in whole.sheets}
    assert (whole.numbers["cutoff"], whole.numbers["splits"]) == (None, [])

    sheet = next(item for item in build(split(found, CUTOFF)).sheets if item.name == "dates")

    assert sheet.title == "Rates before and since 2020-02-01, by the date of the task"
    assert sheet.rows[-4][:6] == ("all", "me", "correct", "50.0%", "33.3%", "-16.7")
    assert sheet.totals == 4


def test_a_cutoff_needs_dates(grade, write_run, tmp_path, toy_suite):
    run = write_run(tmp_path / "run", [grade("me", "toy/blend", True)])

    with pytest.raises(UsageError, match=r"no task of these runs has a date; set paper\.published"):
        split(together([read_run(Path(run))], toy_suite), CUTOFF)


def test_the_command_reports_since_and_splits(dated_suite, grade, write_run, tmp_path):
    run = write_run(tmp_path / "run", [grade("me", f"{slug}/blend", slug in "bd") for slug in "abcde"])

    def report(*options):
        arguments = ["report", run, "--suite", str(dated_suite), "--json", *options]
        return CliRunner().invoke(app, arguments, catch_exceptions=False)

    told = json.loads(report("--since", "2020-01", "--cutoff", "2020-02").stdout)

    assert told["rates"]["all"]["me"]["tasks"] == 4
    assert told["cutoff"] == "2020-02-01"
    assert [item["since"]["tasks"] for item in told["splits"] if item["group"] == "all"] == [3, 3]
    with pytest.raises(UsageError, match="--cutoff: 'soon' is not a date; expected YYYY-MM-DD"):
        report("--cutoff", "soon")
