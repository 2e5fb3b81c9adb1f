"""docs/suite.md says what the suite is now."""

from pathlib import Path

from tests import core

from lmrbench.authoring.overview import masked_lines, suite_page
from lmrbench.tasks.loading import load_suite


def test_the_page_is_up_to_date():
    page = Path(__file__).resolve().parents[2] / "docs" / "suite.md"

    assert page.read_text() == suite_page(list(core.TASKS.values())), "run `make suite-page`"


def test_lines_are_those_of_the_bodies(toy_suite):
    tasks = {task.id: task for task in load_suite(toy_suite)}

    # Two statements of a line each and one of two; the docstring stays.
    assert masked_lines(tasks["toy/blend"]) == 4
