"""Sheets, labels, verdicts and agreement, from a run to the tables, and the errors in sheets."""

import csv
import json
import shutil
from pathlib import Path

import pytest
from tests.running import lmrbench
from typer.testing import CliRunner

from lmrbench.cli import app
from lmrbench.errors import LmrbenchError, RecordError, UsageError
from lmrbench.grading.records import CaseVerdict, Grade
from lmrbench.judging.ballots import read_votes
from lmrbench.judging.labels import ADJUDICATED, adjudicated, disputed, read_labels, write_labels
from lmrbench.judging.sheets import COLUMNS, blinded, read_keys, read_scale, read_sheets, write_sheet
from lmrbench.runs.folder import append_grade, write_submissions
from lmrbench.runs.records import Label
from lmrbench.tasks.submission import Answer, Submission

HELPED = """
def product(one, other):
    return sum(a * b for a, b in zip(one, other))

def blend(self, values):
    factors = weights(len(values))
    return self.scale * product(factors, values) / max(sum(factors), 1.0)
"""
ANSWERS = {
    "secret-one": HELPED,
    "secret-two": "def blend(self, values):\n    return 0.5\n",
    "secret-three": "no ``` code",
}
KEY = {f"item-{number}": Answer("me", f"p{number}/t", 0) for number in range(1, 5)}
GOOD = {"item": "item-1", "task": "p1/t", "annotator": "ann", "category": "CC"}


@pytest.fixture
def run_folder(tmp_path):
    """Create a run of three systems, one of which passes, without a sandbox."""
    folder = tmp_path / "run"
    folder.mkdir()
    items = [Submission(system=system, task="toy/blend", code=code) for system, code in ANSWERS.items()]
    write_submissions(folder, items)
    for item in items:
        passed = item.code == HELPED
        case = CaseVerdict(seed=1, case=0, name="small", verdict="match" if passed else "mismatch")
        grade = Grade(
            system=item.system,
            task=item.task,
            sample=0,
            label="",
            category="x",
            correct=passed,
            robust=passed,
            cases=(case,),
            seconds=1.0,
            peak_mb=0.0,
            warnings=(),
            log="",
            candidate_digest="",
            task_digest="",
            seeds=(1,),
            sandbox="process",
            environment="",
        )
        append_grade(folder, grade)
    return folder


def call(*arguments):
    """Run a command and return its output. Instead of printing a LmrbenchError, it is raised."""
    result = CliRunner().invoke(app, list(map(str, arguments)))
    if isinstance(result.exception, LmrbenchError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def sheet(folder, *rows, name="sheet.csv"):
    """Write a sheet; each row is given by its differences from a valid one."""
    write_sheet(folder / name, [{**GOOD, **row} for row in rows])
    return folder / name


def fill(file, annotator, categories, to):
    """Fill in a sheet as an annotator would, with categories by item."""
    with file.open(encoding="utf-8-sig", newline="") as data:
        rows = list(csv.DictReader(data))
    for row in rows:
        row |= {"annotator": annotator, "category": categories[row["item"]], "reason": "für alle", "seconds": "12.5"}
        row |= {"error_class": "" if row["category"] == "CC" else "Problem context"}
    with to.open("w", encoding="utf-8", newline="") as data:
        writer = csv.DictWriter(data, list(rows[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    return to


def label(annotator, category, task="p1/t", **more):
    return Label(system="me", task=task, sample=0, annotator=annotator, category=category, **more)


def vote_of(system, task, category, **others):
    """Return a line of judgements.jsonl; without a category, its status is `refused`."""
    stored = Path(__file__).parents[1] / "stored" / "schema_1" / "judgements.jsonl"
    named = {"system": system, "task": task, "judge": "j", "category": category}
    ended = {"status": "judged" if category else "refused"}
    error_class = {"error_class": "policy" if category in ("LC", "LI") else None}
    return {**json.loads(stored.read_text()), **named, **ended, **error_class, **others}


def test_the_way_from_a_run_to_agreement(run_folder, toy_suite, tmp_path):
    out, key = tmp_path / "out" / "sheet.csv", tmp_path / "key.jsonl"
    said = call("labels", "export", run_folder, "--out", out, "--key", key, "--suite", toy_suite)
    assert said.startswith("3 items: ")
    documents = {file.stem: file.read_text() for file in (tmp_path / "out" / "sheet-items").iterdir()}
    items = {answer.system: name for name, answer in read_keys([key]).items()}
    assert documents.keys() == set(items.values())
    for text in (*documents.values(), out.read_text()):
        assert not any(word in text for word in ("secret", "mismatch", "passed"))
    assert "strict=True" in documents[items["secret-one"]].partition("## Candidate")[0]
    shown = documents[items["secret-one"]].partition("## Candidate")[2]
    assert "product(factors, values) / max(" in shown.partition("Also added to `blending.py`")[0]
    assert "def product(one, other):" in shown.partition("Also added to `blending.py`")[2]
    assert "No code can be extracted from this answer" in documents[items["secret-three"]]
    assert "````python\nno ``` code\n````" in documents[items["secret-three"]]

    said_by = {"ann": ("CC", "LC", "LI"), "bob": ("CC", "LI", "LI"), "cem": ("CC", "CC", "LI")}
    for name, categories in said_by.items():
        by_item = {items[system]: category for system, category in zip(ANSWERS, categories, strict=True)}
        filled = fill(out, name, by_item, tmp_path / f"{name}.csv")
        call("labels", "import", filled, "--key", key, "--out", tmp_path / f"{name}.jsonl")
    files = [tmp_path / f"{name}.jsonl" for name in said_by]
    together = tmp_path / "labels.jsonl"
    assert call("labels", "merge", *files, files[0], "--out", together).startswith("9 labels of 3 annotators")
    first = read_labels([together])[0]
    assert (first.reason, first.seconds, first.annotator) == ("für alle", 12.5, "ann")
    assert {item.error_class for item in read_labels([together])} == {None, "problem context"}

    verdicts = tmp_path / "verdicts.jsonl"
    said = call("labels", "adjudicate", together, "--key", key, "--out", verdicts)
    assert "2 adjudicated labels" in said
    assert "undecided: 1 disputed answer;" in said
    left = tmp_path / "verdicts-disputed.csv"
    assert "CC für alle; LC für alle; LI für alle" in left.read_text("utf-8-sig")
    with pytest.raises(UsageError, match="already exists; if it is filled in, name it with --decisions"):
        call("labels", "adjudicate", together, "--key", key, "--out", verdicts)
    decided = fill(left, "dee", {items["secret-two"]: "LC"}, tmp_path / "decided.csv")
    call("labels", "adjudicate", together, "--key", key, "--out", verdicts, "--decisions", decided)
    assert [(item.system, item.category) for item in sorted(read_labels([verdicts]), key=lambda item: item.system)] == [
        ("secret-one", "CC"),
        ("secret-three", "LI"),
        ("secret-two", "LC"),
    ]

    votes = [
        ("secret-one", "CC"),
        ("secret-one", "CC"),
        ("secret-one", "LI"),
        ("secret-two", "CC"),
        ("secret-two", "LI"),
    ]
    lines = [
        vote_of(system, "toy/blend", category, vote=number)
        for number, (system, category) in enumerate([*votes, ("secret-three", None)])
    ]
    (run_folder / "judgements.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = json.loads(call("analyse", "agreement", together, verdicts, run_folder, "--json"))
    assert found["ties"] == {"judge j": 1}
    pairs = {f"{item['first']}, {item['second']}": item for item in found["pairs"]}
    assert {name.partition(",")[0] for name in pairs} == {"judge j", "unit tests", "annotator ann", "annotator bob"}
    same = {name: (item["agreement"]["same"]["count"], item["agreement"]["same"]["of"]) for name, item in pairs.items()}
    assert same["judge j, people"] == (1, 1)
    assert same["unit tests, people"] == (2, 3)
    assert same["unit tests, judge j"] == (1, 1)
    assert same["annotator ann, annotator bob"] == (2, 3)
    assert pairs["annotator bob, annotator cem"]["agreement"]["conflicts"]["count"] == 1
    assert pairs["unit tests, annotator ann"]["binary"]["same"]["count"] == 3
    people = found["groups"][0]["reliability"]
    assert (people["raters"], people["items"], people["alpha_ordinal"]["why"]) == (3, 3, "there is only one paper")
    shown = call("analyse", "agreement", together, verdicts, run_folder)
    assert "judge j: left out 1 answer without a majority" in shown
    assert "no interval: there is only one paper" in shown
    assert "not defined: both raters labelled every item CC" in shown
    assert "nan" not in shown.lower().replace("ann", "")


def test_of_one_annotator_and_of_nobody(run_folder, tmp_path):
    write_labels(tmp_path / "labels.jsonl", [label("ann", "CC"), label("ann", "LI", "p2/t")])
    shown = call("analyse", "agreement", tmp_path / "labels.jsonl", run_folder)
    assert "not defined: there is only one rater" in shown
    assert "not defined: no item was labelled by both raters" in shown
    with pytest.raises(UsageError, match="only unit tests rated these answers"):
        call("analyse", "agreement", run_folder)
    with pytest.raises(UsageError, match="sample 0 of toy/blend by secret-one is also graded in another run"):
        call("analyse", "agreement", run_folder, shutil.copytree(run_folder, tmp_path / "copy"))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"category": "XX"}, "sheet.csv:3: category: 'XX' is not on the scale CC, LC, LI"),
        ({"category": "", "reason": "so"}, "sheet.csv:3: category: missing; expected a value on the scale"),
        ({"category": "LC"}, "sheet.csv:3: reason: missing; LC needs a reason"),
        ({"error_class": "typo"}, "sheet.csv:3: error_class: 'typo' is not one of paper parsing, problem context"),
        ({"item": "item-1"}, "sheet.csv:3: item: ann labels item-1 twice; first in "),
        ({"item": "item-9"}, "sheet.csv:3: item: 'item-9' is not in the key"),
        ({"task": "p1/t"}, "sheet.csv:3: task: found 'p1/t', but item-2 belongs to 'p2/t'"),
        ({"seconds": "soon"}, "sheet.csv:3: seconds: 'soon' is not a number of seconds"),
        ({"seconds": "nan"}, "sheet.csv:3: seconds: 'nan' is not a number of seconds"),
        ({"seconds": "-1"}, "sheet.csv:3: seconds: '-1' is not a number of seconds"),
        ({"annotator": ""}, "sheet.csv:3: annotator: missing"),
        ({"annotator": ADJUDICATED}, "sheet.csv:3: annotator: 'adjudicated' is reserved"),
    ],
)
def test_a_bad_row_is_named(row, message, tmp_path):
    row = {"item": "item-2", "task": "" if row.get("item") else "p2/t"} | row
    file = sheet(tmp_path, {"reason": "spans\ntwo lines, and is on line 2"}, row)
    with pytest.raises(RecordError) as error:
        read_sheets([file], KEY)
    (line,) = str(error.value).replace(f"{tmp_path}/", "").splitlines()[1:]
    # The first row spans two lines of the file.
    assert message.replace(":3:", ":4:") in line


@pytest.mark.parametrize(
    ("values", "scale"),
    [("0 2 1", "0=LI,1=LC,2=CC"), ("1 3 2", "1=LI,2=LC,3=CC"), ("3.0 2.0 1.0", "1=LI,2=LC,3=CC"), ("5 9", "0=LI")],
)
def test_a_shifted_scale_is_said_once_and_can_be_mapped(values, scale, tmp_path):
    rows = [
        {"item": f"item-{number}", "task": "", "category": value, "reason": "so"}
        for number, value in enumerate(values.split(), 1)
    ]
    file = sheet(tmp_path, *rows, {"item": "item-1", "annotator": "bob", "category": "cc"})
    with pytest.raises(RecordError) as error:
        read_sheets([file], KEY)
    (line,) = str(error.value).splitlines()[1:]
    assert "category: ann writes numbers" in line
    assert "instead of CC, LC, LI" in line
    assert f"--scale {scale}" in line
    if scale != "0=LI":
        labels, _ = read_sheets([file], KEY, read_scale(scale))
        meant = {text: name for text, _, name in (part.partition("=") for part in scale.split(","))}
        assert [item.category for item in labels] == [*(meant[value[0]] for value in values.split()), "CC"]
    with pytest.raises(RecordError, match=r"'[59]' is not on the scale|'[0-3]\.?0?' is not on the scale CC, LC, LI, 7"):
        read_sheets([file], KEY, read_scale("7=CC"))


@pytest.mark.parametrize("scale", ["0", "0=XX", "=CC", "0=CC,0=LI", "1=CC,1.0=LI"])
def test_a_scale_of_another_form_is_refused(scale):
    with pytest.raises(UsageError, match="expected the form 0=LI,1=LC,2=CC"):
        read_scale(scale)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("item,task\n".encode("utf-16"), "sheet.csv:1: not valid UTF-8; save the sheet as UTF-8"),
        (f"{','.join(COLUMNS)}\nitem-1,,ann,LC,,für,\n".encode("latin-1"), "sheet.csv:2: not valid UTF-8"),
        (b"item,task,annotator,category,reason,seconds\n", "sheet.csv:1: missing columns: error_class"),
        (b"", "sheet.csv is empty"),
        (f"{','.join(COLUMNS)}\n1,2,3,4,5,6,7,8\n".encode(), "sheet.csv:2: found 8 cells, but there are 7 columns"),
    ],
)
def test_a_file_that_is_no_sheet_is_named(data, message, tmp_path):
    (tmp_path / "sheet.csv").write_bytes(data)
    with pytest.raises(RecordError, match=message):
        read_sheets([tmp_path / "sheet.csv"], KEY)


def test_sheets_of_json_lines_of_any_separator_and_half_filled_ones_are_taken(tmp_path):
    rows = sheet(tmp_path, {"seconds": "3"}, name="sheet.jsonl")
    row = json.loads(rows.read_text())
    rows.write_text(json.dumps(row | {"category": 2, "seconds": 3, "reason": None}) + "\n")
    assert read_sheets([rows], KEY, {"2": "CC"}) == ([label("ann", "CC", seconds=3)], 0)
    rows.write_text("{}\n")
    with pytest.raises(RecordError, match=r"sheet\.jsonl:1: missing columns: item, task"):
        read_sheets([rows], KEY)
    tabs = tmp_path / "tabs.csv"
    tabs.write_text("\t".join(COLUMNS) + "\tnotes\nitem-1\t\tann\tCC\nitem-2\tp2/t\tann\n")
    assert read_sheets([tabs], KEY) == ([label("ann", "CC")], 1)


def test_a_bad_sheet_ends_the_command_with_2_lists_every_row_and_writes_nothing(tmp_path):
    sheet(tmp_path, {"category": "XX"}, {"item": "item-9"})
    sheet(tmp_path, {"seconds": "x"}, name="other.csv")
    (tmp_path / "key.jsonl").write_text('{"item":"item-1","system":"me","task":"p1/t","sample":0}\n')
    sheets = ("sheet.csv", "other.csv", "missing.csv")
    result = lmrbench("labels", "import", *sheets, "--key", "key.jsonl", "--out", "labels.jsonl", cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr.splitlines() == [
        "lmrbench: the sheets have errors:",
        "    missing.csv: No such file or directory",
        "    sheet.csv:2: category: 'XX' is not on the scale CC, LC, LI",
        "    sheet.csv:3: item: 'item-9' is not in the key",
        "    other.csv:2: seconds: 'x' is not a number of seconds",
    ]
    assert not (tmp_path / "labels.jsonl").exists()


def test_nothing_that_may_be_filled_in_is_overwritten(run_folder, toy_suite, tmp_path):
    file = sheet(tmp_path, {})
    with pytest.raises(UsageError, match=r"sheet\.csv already exists"):
        call("labels", "export", run_folder, "--out", file, "--key", tmp_path / "key", "--suite", toy_suite)
    with pytest.raises(UsageError, match=r"a sheet must be a \.csv or \.jsonl file"):
        call("labels", "export", run_folder, "--out", "sheet.xlsx", "--key", tmp_path / "key", "--suite", toy_suite)
    write_labels(tmp_path / "labels.jsonl", [label("ann", "CC")])
    with pytest.raises(UsageError, match=r"labels\.jsonl exists already"):
        call("labels", "import", file, "--key", tmp_path / "key", "--out", tmp_path / "labels.jsonl")
    with pytest.raises(UsageError, match="is the input file of labels"):
        call("labels", "adjudicate", tmp_path / "labels.jsonl", "--key", "key", "--out", tmp_path / "labels.jsonl")
    with pytest.raises(UsageError, match="there is no task 'toy/blend' in this suite"):
        call("labels", "export", run_folder, "--out", tmp_path / "new.csv", "--key", tmp_path / "key")


def test_names_and_order_come_from_the_seed_and_tell_nothing():
    answers = list(KEY.values())
    assert list(blinded(answers, 1).items()) == list(blinded(answers[::-1], 1).items())
    assert not blinded(answers, 1).keys() & blinded(answers, 2).keys()
    assert not blinded(answers, 1).keys() & blinded(answers[:3], 1).keys()
    assert len({tuple(blinded(answers, seed).values()) for seed in range(20)}) > 5


def test_contradictions_are_named_and_equal_labels_are_one(tmp_path):
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    write_labels(one, [label("ann", "CC"), label("bob", "CC")])
    write_labels(other, [label("ann", "CC"), label("bob", "LI", reason="so")])
    assert len(read_labels([one, one])) == 2
    with pytest.raises(RecordError) as error:
        call("labels", "merge", one, other, "--out", tmp_path / "all.jsonl")
    (line,) = str(error.value).splitlines()[1:]
    assert line == f"bob, sample 0 of p1/t by me: category is 'CC' in {one} and 'LI' in {other}"
    assert not (tmp_path / "all.jsonl").exists()


def test_the_majority_decides_and_a_third_person_on_ties_and_conflicts():
    clear = [label("a", "LC", "p1/t", reason="x"), label("b", "LC", "p1/t", reason="y"), label("c", "CC", "p1/t")]
    tie = [label("a", "LC", "p2/t"), label("b", "CC", "p2/t")]
    conflict = [label(name, category, "p3/t") for name, category in (("a", "CC"), ("b", "CC"), ("c", "LI"))]
    labels = [*clear, *tie, *conflict]
    assert [answer.task for answer in disputed(labels)] == ["p2/t", "p3/t"]
    (verdict,) = adjudicated(labels)
    assert (verdict.annotator, verdict.category, verdict.reason) == (ADJUDICATED, "LC", "x; y")
    decisions = [label("d", "LC", "p2/t", reason="z"), label("d", "CC", "p3/t")]
    assert [item.category for item in adjudicated(labels, decisions)] == ["LC", "LC", "CC"]
    for bad, message in (
        (label("d", "CC", "p1/t"), "is not disputed"),
        (label("a", "CC", "p2/t"), "another person must decide"),
        (label("e", "CC", "p2/t"), "the decisions of d and e differ"),
    ):
        with pytest.raises(UsageError, match=message):
            adjudicated(labels, [*decisions, bad])


def test_of_a_vote_that_was_asked_for_again_the_last_line_counts(tmp_path):
    assert read_votes(tmp_path) == {}
    lines = [
        vote_of("me", "p1/t", None),
        vote_of("me", "p1/t", "LI", order="candidate first"),
        vote_of("me", "p1/t", "CC"),
        vote_of("me", "p1/t", None, vote=1),
    ]
    file = tmp_path / "judgements.jsonl"
    file.write_text("".join(json.dumps(item) + "\n" for item in lines) + '{"cut short')
    assert read_votes(tmp_path) == {"j": {KEY["item-1"]: ["CC", "LI"]}}
    file.write_text('{"system": "me"}\n')
    with pytest.raises(RecordError, match=r"judgements\.jsonl:1"):
        read_votes(tmp_path)
