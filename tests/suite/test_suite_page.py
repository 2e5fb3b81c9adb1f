"""docs/suite.md says what the suite is now."""

from pathlib import Path

from lmrbench.authoring.overview import masked_lines, suite_page
from lmrbench.tasks.loading import default_suite, load_suite
from lmrbench.tasks.selection import select


def test_the_page_is_up_to_date():
    page = Path(__file__).resolve().parents[2] / "docs" / "suite.md"

    assert page.read_text() == suite_page(select(load_suite(default_suite()), [])), "run `make suite-page`"


def test_lines_are_those_of_the_bodies(toy_suite):
    tasks = {task.id: task for task in load_suite(toy_suite)}

    # Two statements of a line each and one of two; the docstring stays.
    assert masked_lines(tasks["toy/blend"]) == 4
