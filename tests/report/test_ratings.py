"""What judges and people say: counted by hand, in a report, and where the labels are not those of the runs."""

import csv
import json
import re
import shlex

import pytest
from sklearn.metrics import confusion_matrix
from typer.testing import CliRunner

from lmrbench.cli import app
from lmrbench.errors import LmrbenchError, RecordError, UsageError
from lmrbench.judging.labels import ADJUDICATED, write_labels
from lmrbench.report.measures.ratings import beside_tests, opposites, ratings, tallies

TASKS = [f"p{number}/t" for number in range(6)]
CLASSES = ["paper parsing", "problem context", "code robustness", "cross-file retrieval", "policy"]


def call(*arguments):
    """What a command prints on standard output. A LmrbenchError, which `main` would print as a line, is raised."""
    result = CliRunner().invoke(app, list(map(str, arguments)))
    if isinstance(result.exception, LmrbenchError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def votes(vote):
    """Three votes of a judge on each of four answers, and one vote of another judge on two of them."""
    said: dict[str, list[tuple[str, str | None]]] = {
        "p0/t": [("CC", None), ("CC", None), ("LI", "policy")],
        "p1/t": [("LI", "policy"), ("LI", "paper parsing"), ("LI", "paper parsing")],
        "p2/t": [("LC", "policy"), ("LC", "paper parsing"), ("LI", "policy")],
        "p3/t": [("CC", None), ("LC", "policy"), ("LI", "policy")],
    }
    found = [
        vote("me", task, category, error_class, "j", number)
        for task, of_task in said.items()
        for number, (category, error_class) in enumerate(of_task)
    ]
    return [*found, vote("me", "p0/t", "LI", "policy", "k"), vote("me", "p4/t", None, judge="k")]


@pytest.fixture
def labels(label):
    """Of two annotators and a third person, who decided on one answer."""
    return [
        label("me", "p0/t", "CC"),
        label("me", "p0/t", "LI", "policy", "bob"),
        label("me", "p0/t", "LC", "code robustness", ADJUDICATED),
        label("me", "p1/t", "LI", "policy"),
        label("me", "p1/t", "LI", None, "bob"),
        label("me", "p5/t", "CC", None, "bob"),
    ]


@pytest.fixture
def grades(grade):
    """The first three tasks pass, and the last is not in the run."""
    return [grade("me", task, place < 3) for place, task in enumerate(TASKS[:5])]


def test_each_rater_by_hand(votes, labels):
    found = {item.rater: item for item in tallies(ratings(votes, labels))}
    counts = {
        rater: [item.answers, *item.categories.values(), item.undecided, item.faulty] for rater, item in found.items()
    }
    assert counts == {
        # CC, LI, LC, and one answer of which each vote says something else.
        "judge j": [4, 1, 1, 1, 1, 2],
        # A refusal is no category.
        "judge k": [2, 0, 0, 1, 1, 1],
        # Two votes of four say CC of the first answer, which is not most of them.
        "all judges": [5, 0, 1, 1, 3, 2],
        "annotator ann": [2, 1, 0, 1, 0, 1],
        "annotator bob": [3, 1, 0, 2, 0, 2],
        # The first was adjudicated, the second they agree on, the third one of them labelled.
        "people": [3, 1, 1, 1, 0, 2],
    }
    assert list(counts) == ["judge j", "judge k", "all judges", "annotator ann", "annotator bob", "people"]
    classes = {rater: ([*item.error_classes.values()], item.unclassed) for rater, item in found.items()}
    # Most votes name paper parsing of the second answer. Those for LC of the third name two classes equally often,
    # and that for LI, which is not what the judge says of it, does not count.
    assert classes["judge j"] == ([1, 0, 0, 0, 0], 1)
    assert classes["annotator bob"] == ([0, 0, 0, 0, 1], 1)
    assert classes["people"] == ([0, 0, 1, 0, 1], 0)
    assert list(found["people"].error_classes) == CLASSES
    assert found["people"].error_shares == {
        **dict.fromkeys(CLASSES, 0.0), "code robustness": 0.5, "policy": 0.5
    }  # fmt: skip


def test_what_was_asked_again_counts_once(vote):
    again = [vote("me", "p0/t", "LI"), vote("me", "p0/t", "CC")]
    (found,) = tallies(ratings(again, []))
    assert (found.answers, found.categories["CC"], found.faulty, found.error_shares) == (1, 1, 0, {})


def test_one_annotator_alone_is_not_people_together_and_verdicts_alone_are(label):
    said = [label("me", "p0/t", "CC")]
    assert [item.rater for item in ratings([], said)] == ["annotator ann"]
    assert [item.rater for item in ratings([], [said[0].model_copy(update={"annotator": ADJUDICATED})])] == ["people"]
    assert ratings([], []) == []


def test_a_rater_beside_the_tests_is_a_table_of_two_by_two(votes, labels, grades):
    rated = ratings(votes, labels)
    passed = {item.task: item.correct for item in grades}
    found = {item.rater: item for item in beside_tests(rated, grades)}
    assert found.keys() == {item.rater for item in rated}
    for rater, item in found.items():
        both = [one for one in rated if one.rater == rater and one.category and one.task in passed]
        tests, says = [passed[one.task] for one in both], [one.category == "CC" for one in both]
        table = confusion_matrix(tests, says, labels=[False, True])
        assert item.answers == table.sum()
        assert [item.passes, item.correct] == [table[1].sum(), table[:, 1].sum()]
        assert [item.passes_alone, item.correct_alone] == [table[1, 0], table[0, 1]]
    assert found["judge j"].model_dump(exclude={"system", "rater"}) == {
        "answers": 3, "passes": 3, "correct": 1, "passes_alone": 2, "correct_alone": 0
    }  # fmt: skip


def test_opposites_name_everyone_who_says_so(votes, labels, grades, vote):
    rated = ratings([*votes, vote("me", "p4/t", "CC"), vote("me", "p5/t", "LI")], labels)
    found = {item.task: (item.passed, item.category, item.raters) for item in opposites(rated, grades)}
    assert found == {
        "p0/t": (True, "LI", ("judge k", "annotator bob")),
        "p1/t": (True, "LI", ("judge j", "all judges", "annotator ann", "annotator bob", "people")),
        "p4/t": (False, "CC", ("judge j", "all judges")),
    }


def test_a_report_shows_people_beside_judges_and_tests(votes, labels, grades, write_run, tmp_path):
    run = write_run(tmp_path / "my run", grades, votes=votes)
    write_labels(tmp_path / "labels.jsonl", labels)
    tables, page, tex = tmp_path / "tables", tmp_path / "x.html", tmp_path / "x.tex"
    call("report", run, "--labels", tmp_path / "labels.jsonl", "--csv", tables, "--html", page, "--latex", tex)

    rows = {file.stem: list(csv.DictReader(file.read_text("utf-8").splitlines())) for file in tables.iterdir()}
    # Without the label of an answer that is not in the run.
    assert {
        "system": "me", "rater": "people", "answers": "2", "CC": "0.0", "LC": "0.5", "LI": "0.5", "none": "0"
    } in rows["ratings"]  # fmt: skip
    assert {
        "system": "me",
        "rater": "annotator bob",
        "answers": "2",
        "tests pass": "2",
        "tests pass share": "1.0",
        "called CC": "0",
        "called CC share": "0.0",
        "passes, not CC": "2",
        "passes, not CC share": "1.0",
        "fails, but CC": "0",
        "fails, but CC share": "0.0",
    } in rows["beside-tests"]
    assert [(row["task"], row["tests"], row["says"]) for row in rows["opposites"]] == [
        ("p0/t", "pass", "LI"),
        ("p1/t", "pass", "LI"),
    ]
    assert rows["opposites"][0]["rater"] == "judge k, annotator bob"
    (people,) = (row for row in rows["errors"] if row["rater"] == "people")
    assert [people["LC or LI"], people["code robustness"], people["paper parsing"], people["none"]] == [
        "2", "1", "0", "0"
    ]  # fmt: skip
    for name in ("ratings", "beside-tests", "opposites", "errors"):
        assert f'<section id="{name}">' in page.read_text("utf-8")
        assert rf"\label{{tab:{name}}}" in tex.read_text("utf-8")
    assert not re.search(r'<p class="note">\s*</p>', page.read_text("utf-8"))
    shown = call("report", run, "--full", "--labels", tmp_path / "labels.jsonl")
    assert "contradicts the unit tests" in shown
    found = json.loads(call("report", run, "--labels", tmp_path / "labels.jsonl", "--json"))
    assert [item["rater"] for item in found["tallies"]][-1] == "people"
    assert found["opposites"][0]["raters"] == ["judge k", "annotator bob"]
    assert len(found["beside_tests"]) == 6


def test_what_nobody_rated_has_no_tables(grades, write_run, tmp_path):
    found = json.loads(call("report", write_run(tmp_path / "run", grades), "--json"))
    assert (found["tallies"], found["beside_tests"], found["opposites"]) == ([], [], [])
    assert "judges" not in call("report", tmp_path / "run", "--full")


def test_the_command_of_an_opposite_shows_that_answer(grade, vote, write_run, toy_suite, tmp_path):
    grades = [grade(system, "toy/blend", True, sample) for system in ("me", "-- 'you'") for sample in (0, 1)]
    run = write_run(tmp_path / "a run", grades, votes=[vote("-- 'you'", "toy/blend", "LI", sample=1)])
    (found,) = json.loads(call("report", run, "--json", "--suite", toy_suite))["opposites"]
    program, *arguments = shlex.split(found["command"])
    assert program == "lmrbench"
    assert "sample 1 of -- 'you': correct and robust" in call(*arguments)
    alone = write_run(tmp_path / "alone", grades[:1], votes=[vote("me", "toy/blend", "LI")])
    (found,) = json.loads(call("report", alone, "--json"))["opposites"]
    assert found["command"] == f"lmrbench why {alone} toy/blend"


def test_raters_of_answers_without_a_grade_are_not_defined_beside_the_tests(grade, label, write_run, tmp_path):
    run = write_run(tmp_path / "run", [grade("me", "p0/t", True)], votes=[])
    (tmp_path / "run" / "submissions.jsonl").write_text('{"system": "me", "task": "p1/t", "code": "x"}\n')
    write_labels(tmp_path / "labels.jsonl", [label("me", "p1/t", "CC")])
    shown = call("report", run, "--labels", tmp_path / "labels.jsonl", "--markdown", "--full")
    assert "| me | annotator ann | 0 | not defined | not defined | not defined | not defined |" in shown
    assert "Error classes" not in shown


def test_labels_go_to_the_run_of_their_answer(grade, label, write_run, tmp_path):
    runs = [
        write_run(tmp_path / name, [grade("me", task, True)]) for name, task in (("one", "p0/t"), ("other", "p1/t"))
    ]
    write_labels(tmp_path / "labels.jsonl", [label("me", "p1/t", "LI")])
    found = json.loads(call("report", *runs, "--labels", tmp_path / "labels.jsonl", "--json"))
    assert [item["system"] for item in found["tallies"]] == [f"me ({runs[1]})"]
    assert found["opposites"][0]["command"] == f"lmrbench why {runs[1]} p1/t"


def test_labels_that_are_not_of_these_runs_are_one_line(grades, label, labels, write_run, tmp_path):
    run = write_run(tmp_path / "run", grades)
    file = tmp_path / "labels.jsonl"
    write_labels(file, [*labels, label("you", "p0/t", "CC")])
    arguments = ["report", run, "--labels", str(file), "--html", str(tmp_path / "x.html")]
    said = CliRunner().invoke(app, arguments).stderr
    # The task that is not in the run, and the other system.
    ignored = "2 of 7 labels match no answer of these runs and are ignored"
    line = f"{file}: {ignored}; the first one is for sample 0 of p5/t by me"
    assert f"lmrbench: {line}\n" in said
    assert line in (tmp_path / "x.html").read_text("utf-8")
    write_labels(file, [label("you", "p0/t", "CC")])
    with pytest.raises(UsageError, match="no label matches an answer of these runs; the first one is for sample 0 of"):
        call("report", run, "--labels", file)
    again = write_run(tmp_path / "again", grades)
    write_labels(file, labels)
    with pytest.raises(
        UsageError, match=r"sample 0 of p0/t by me: the label matches answers in .*run and in .*again; report only one"
    ):
        call("report", run, again, "--labels", file)


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_labels_in_another_encoding_are_said_to_be_so(grades, label, write_run, tmp_path, encoding):
    run = write_run(tmp_path / "run", grades)
    file = tmp_path / "labels.jsonl"
    text = label("me", "p0/t", "CC").model_dump_json() + "\n"
    file.write_bytes((text + text.replace('"reason":""', '"reason":"für alle"')).encode(encoding))
    line = 1 if encoding == "utf-16" else 2
    for command in (("report",), ("analyse", "errors")):
        with pytest.raises(RecordError, match=rf"labels\.jsonl:{line}: not valid UTF-8$"):
            call(*command, run, "--labels", file)


def test_errors_by_system_and_rater(votes, labels, grades, write_run, tmp_path):
    run = write_run(tmp_path / "run", grades, votes=votes)
    write_labels(tmp_path / "labels.jsonl", labels)
    found = {
        item["rater"]: item
        for item in json.loads(call("analyse", "errors", run, "--labels", tmp_path / "labels.jsonl", "--json"))
    }
    assert (found["judge j"]["faulty"], found["judge j"]["unclassed"]) == (2, 1)
    assert found["judge j"]["error_shares"]["paper parsing"] == 0.5
    assert found["people"]["error_classes"]["policy"] == 1
    rows = [line.split() for line in call("analyse", "errors", run).splitlines()]
    assert ["me", "judge", "j", "2", "1", "(50%)", *["0", "(0%)"] * 4, "1", "(50%)"] in rows
    # A rater who finds no fault has no shares.
    write_labels(tmp_path / "labels.jsonl", labels[:1])
    rows = [line.split() for line in call("analyse", "errors", run, "--labels", tmp_path / "labels.jsonl").splitlines()]
    assert ["me", "annotator", "ann", *["0"] * 7] in rows


def test_errors_that_nobody_named_are_a_sentence(grades, write_run, tmp_path):
    run = write_run(tmp_path / "run", grades)
    assert f"{run}: no judgements and no labels" in call("analyse", "errors", run)
    assert json.loads(call("analyse", "errors", run, "--json")) == []
