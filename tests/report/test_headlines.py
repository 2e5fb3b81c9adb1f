"""The first lines of a report: what may be concluded about systems, and the row of each."""

from pathlib import Path

import pytest

from lmrbench.report.build import build
from lmrbench.report.combine import together
from lmrbench.report.headlines import conclusions, headline_sheets
from lmrbench.runs.folder import read_run

PAPERS = [f"p{number}" for number in range(12)]


@pytest.fixture
def report(grade, write_run, tmp_path_factory):
    """The report of systems that are right on the tasks with these numbers."""

    def made(usages=(), tasks=None, **right):
        tasks = tasks or [f"{paper}/x" for paper in PAPERS]
        grades = [
            grade(system, task, place in places) for system, places in right.items() for place, task in enumerate(tasks)
        ]
        run = write_run(tmp_path_factory.mktemp("runs") / "run", grades, list(usages))
        return build(together([read_run(Path(run))], None))

    return made


def test_a_difference_that_chance_explains_is_told_from_one_that_it_does_not(report):
    (large, small) = conclusions(report(best=range(12), next=range(3), last=range(1)))
    assert (
        large == "best and next differ by 75.0 points on 12 common tasks, more than chance would explain (p = 0.008)."
    )
    assert small.startswith("next and last differ by 16.7 points on 12 common tasks, which may be chance (p = ")


def test_equal_systems_and_a_single_paper_allow_no_conclusion(report):
    assert conclusions(report(me=range(5), you=range(5))) == ["me and you are equal on 12 common tasks."]
    (line,) = conclusions(report(me=range(5), you=range(6)))
    assert (
        line == "you and me differ by 8.3 points on 12 common tasks, but only on one paper, which allows no conclusion."
    )


def test_a_single_system_is_told_what_its_tasks_can_detect(report):
    (line,) = conclusions(report(me=range(5), tasks=[f"q{number}/x" for number in range(28)]))
    assert line == (
        "With 28 tasks, only a difference of 28 percentage points or more between two systems is detected (80% power)."
    )


def test_the_row_has_the_interval_over_papers_or_else_over_tasks_and_what_is_unanswered(report, usage):
    lost = usage("some", "p0/y", "provider_error")
    (sheet,) = headline_sheets(
        report([lost, usage("some", "p1/x", "answered", dollars=0.5)], some=range(6), all=range(12))
    )
    some, every = (dict(zip(sheet.columns, row, strict=True)) for row in sheet.rows)
    assert (some["correct"], some["unanswered"], some["dollars"]) == ("50.0%", "1 (46.2% as wrong)", "0.5000")
    assert "(tasks)" not in some["95% interval"]
    assert (every["95% interval"], every["unanswered"]) == ("76% to 100% (tasks)", "")
