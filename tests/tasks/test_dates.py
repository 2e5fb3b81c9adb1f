"""Dates of papers: what the loader accepts, the date of a method, and that no digest depends on one."""

from datetime import date

import pytest

from lmrbench.errors import TaskError
from lmrbench.tasks.dates import first_day
from lmrbench.tasks.digests import audit_digest, grading_digest, suite_digest
from lmrbench.tasks.loading import load_suite

RELEASED = 'released = {{ package = "blending", version = "{}", date = "{}" }}'


@pytest.fixture
def loaded(suite):
    """Loads the toy suite with further lines in its [paper]."""

    def load(*lines):
        file = suite / "toy" / "task.toml"
        file.write_text(file.read_text().replace("\n\n[[task]]", "\n" + "\n".join(lines) + "\n\n[[task]]", 1))
        return load_suite(suite)

    return load


@pytest.mark.parametrize(
    ("lines", "since"),
    [
        ([], None),
        (['published = "2019-05-29"'], "2019-05-29"),
        (['published = "2019-05"'], "2019-05"),
        (["published = 2019-05-29"], "2019-05-29"),
        ([RELEASED.format("0.8.2", "2020-04-11")], "2020-04-11"),
        (['published = "2020-05"', RELEASED.format("0.8.2", "2020-04-11")], "2020-04-11"),
        # A month may have begun before the release.
        (['published = "2020-04"', RELEASED.format("0.8.2", "2020-04-11")], "2020-04"),
    ],
)
def test_a_method_is_public_since_the_earlier_of_both_dates(loaded, lines, since):
    assert loaded(*lines)[0].paper.public_since == since


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('published = "May 2019"', "paper.published: 'May 2019' is not a date; expected YYYY-MM-DD, or YYYY-MM"),
        ('published = "2019-02-30"', "paper.published: '2019-02-30' is not a date"),
        ('published = "20190228"', "paper.published: '20190228' is not a date"),
        ("published = 2019-05-29T10:00:00", "paper.published: '2019-05-29T10:00:00' is not a date"),
        ("published = 2019", "paper.published: Input should be a valid string"),
        ('published = "2021-01-01"', "paper: published: 2021-01-01 is later than the year of publication, 2020"),
        (RELEASED.format("new", "2019-05-29"), "paper.released.version: 'new' is not a version"),
        (RELEASED.format("1.0", "2019"), "paper.released.date: '2019' is not a date"),
        ('released = { package = "blending", version = "1.0" }', "paper.released.date: missing"),
        ('released = { package = "a b", version = "1.0", date = "2019-05" }', "paper.released.package"),
    ],
)
def test_the_loader_names_the_key_of_a_date_that_is_none(loaded, line, problem):
    with pytest.raises(TaskError) as error:
        loaded(line)
    assert problem in str(error.value)


def test_a_month_begins_with_its_first_day():
    assert (first_day("2019-05"), first_day("2019-05-29")) == (date(2019, 5, 1), date(2019, 5, 29))


def test_no_digest_depends_on_dates(loaded, toy_suite):
    def digests(tasks):
        return grading_digest(tasks[0]), audit_digest(tasks[0]), suite_digest(tasks)

    dated = loaded('published = "2019-05-29"', RELEASED.format("0.8.2", "2020-04-11"))

    assert digests(dated) == digests(load_suite(toy_suite))
