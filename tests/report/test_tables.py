"""A table reads well on a narrow terminal, in a file, and as Markdown."""

import io

from rich.console import Console

from lmrbench.report.render.tables import in_one_line, sheet, show
from lmrbench.report.render.text import markdown

TABLE = sheet(
    "Things",
    ("name", "count", "colour", "story"),
    [("first", 1, "green", "s" * 30), ("second", None, "blue", "t" * 30), ("all", 3, "", "")],
    numbers=["count"],
    spare=["colour", "story"],
    totals=1,
)


def shown(table, width):
    out = io.StringIO()
    show(table, Console(file=out, width=width))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_columns_go_from_the_last_spare_one_on_until_a_table_fits_and_the_others_never():
    assert shown(TABLE, 100)[1].split() == ["name", "count", "colour", "story"]
    assert shown(TABLE, 40)[1].split() == ["name", "count", "colour"]
    assert shown(TABLE, 15)[1].split() == ["name", "count"]
    assert all(len(line) <= 15 for line in shown(TABLE, 15))


def test_a_table_whose_columns_are_named_after_systems_is_shown_whatever_they_are_called():
    # Of two columns of one name the last is ours, and the one that a narrow terminal does without.
    columns = ("task", "s" * 400, "seconds", "seconds")
    text = "".join(shown(sheet("", columns, [("t", "1/1", "0/1", "2.5")], spare=["seconds", "ended"]), 80))
    assert text.count("s" * 20) >= 1
    assert "1/1" in text
    assert "0/1" in text
    assert "2.5" not in text


def by_system(systems, tasks):
    columns = ["task", *systems, "seconds"]
    rows = [[task, *(f"{place}/9" for place in range(len(systems))), "1.5"] for task in tasks]
    return sheet("", columns, rows, numbers=columns[1:], spare=["seconds"], by_system=True)


def test_systems_that_do_not_fit_beside_each_other_are_the_rows_or_follow_below():
    systems = [f"organisation/model-{number:02}" for number in range(35)]
    turned = shown(by_system(systems, ["dpo/loss", "nsa/attend"]), 80)
    assert turned[0].split() == ["system", "dpo/loss", "nsa/attend"]
    assert [line.split()[0] for line in turned[1:36]] == systems
    assert turned[3].split() == [systems[2], "2/9", "2/9"]

    tasks = [f"paper{number}/a_function_of_it" for number in range(6)]
    lines = shown(by_system(systems, tasks), 80)
    assert all(len(line) <= 80 for line in lines)
    heads = [line.split() for line in lines if line.startswith("task ")]
    assert [name for head in heads for name in head[1:]] == systems
    assert len([line for line in lines if line.startswith(tasks[0])]) == len(heads) > 1

    # One system alone, whose name is too long for any line, is folded.
    assert "x" * 20 in "".join(shown(by_system(["x" * 400], tasks), 80))


def test_titles_numbers_and_totals():
    lines = shown(TABLE, 100)
    assert lines[0] == "Things"
    assert lines[2].index("1") == lines[1].index("count") + len("count") - 1
    # The totals stand apart, and None is an empty cell.
    assert lines[4] == ""
    assert lines[5].split() == ["all", "3"]
    assert lines[3].split() == ["second", "blue", "t" * 30]


def test_what_others_wrote_is_text_and_begins_no_line():
    hostile = sheet("", ("a\nlmrbench: b", "c"), [("x\nlmrbench: y", "[red]\x1b[2J|z\nlmrbench: w")])
    assert not [line for line in shown(hostile, 100) if line.startswith("lmrbench:")]
    assert "\x1b" not in "".join(shown(hostile, 100))
    text = markdown(hostile)
    assert "\x1b" not in text
    assert not [line for line in text.splitlines() if line.startswith("lmrbench:")]
    assert text.splitlines()[2].count("\\|") == 1


def test_of_a_traceback_the_first_words_and_the_error_are_said():
    reason = "large: error: Traceback (most recent call last):\n  File x\nValueError: no"
    assert in_one_line(reason) == "large: error: ValueError: no"
    assert in_one_line("x" * 200) == "x" * 120 + "…"
    assert in_one_line("") == ""
