"""`lmrbench report` and `why` on runs that are finished, killed, made elsewhere, or several."""

import json
import shutil
from pathlib import Path

import pytest
from tests.running import lmrbench as run
from tests.toy import RIGHT, UNSCALED

from lmrbench import __version__

STORED = Path(__file__).parents[1] / "stored" / "schema_1"


@pytest.fixture(scope="module")
def graded(tmp_path_factory, toy_suite):
    """A run folder of three answers of one system and one of another."""
    folder = tmp_path_factory.mktemp("graded")
    answers = [("me", 0, RIGHT), ("me", 1, UNSCALED), ("me", 2, "no code at all"), ("you", 0, RIGHT)]
    lines = [
        json.dumps({"system": system, "task": "toy/blend", "sample": sample, "code": code})
        for system, sample, code in answers
    ]
    (folder / "answers.jsonl").write_text("\n".join(lines) + "\n")
    result = run("grade", "answers.jsonl", "--suite", toy_suite, "--seed", 0, cwd=folder)
    assert result.returncode == 0, result.stderr
    return folder / "runs" / "answers"


def test_a_run_is_reported_by_task_by_category_and_by_kind_of_failure(graded):
    result = run("report", graded, "--full", cwd=graded.parent)

    assert result.returncode == 0, result.stderr
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["toy/blend", "1/3", "1/1"] in rows
    assert ["all", "me", "1", "1/3", "33.3%"] in [row[:5] for row in rows]
    assert ["me", "mismatch", "1", "toy/blend"] in [row[:4] for row in rows]
    assert ["me", "missing", "1", "toy/blend"] in [row[:4] for row in rows]


def test_a_report_fits_a_screen_and_says_what_may_be_concluded(graded):
    result = run("report", graded, cwd=graded.parent)

    assert result.returncode == 0, result.stderr
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["system", "tasks", "correct", "95%", "interval", "robust"] in rows
    assert ["me", "1", "33.3%"] in [row[:3] for row in rows]
    assert "you and me differ by 66.7 points on 1 common task; a test needs more than one paper." in result.stdout
    assert len(rows) < 12
    markdown = run("report", graded, "--markdown", cwd=graded.parent).stdout
    # What a reader must know to compare the row with others.
    assert f"sandbox bubblewrap, 1 seed, lmrbench {__version__}\n" in markdown
    assert [line for line in markdown.splitlines() if line.startswith("| me")] == [
        "| me | 1 | 33.3% | 3% to 91% (tasks) | 33.3% |"
    ]


def test_the_same_as_json_and_as_markdown(graded):
    found = json.loads(run("report", graded, "--json", cwd=graded.parent).stdout)
    assert found["rates"]["all"]["me"]["passes"] == 1
    assert {item["verdict"]: item["answers"] for item in found["failures"]} == {"mismatch": 1, "missing": 1}
    assert len(found["grades"]) == 4

    text = run("report", graded, "--markdown", "--full", cwd=graded.parent).stdout
    assert "| toy/blend | 1/3 | 1/1 |" in text
    assert "| --- | ---: | ---: |" in text


def test_runs_stand_side_by_side_and_systems_of_one_name_are_told_apart(graded, tmp_path):
    shutil.copytree(graded, tmp_path / "first")
    shutil.copytree(graded, tmp_path / "second")

    found = json.loads(run("report", "first", "second", "--json", cwd=tmp_path).stdout)

    assert set(found["rates"]["all"]) == {"me (first)", "me (second)", "you (first)", "you (second)"}


def test_a_folder_that_is_named_twice_counts_once_and_runs_below_a_folder_are_found(graded, toy_suite, tmp_path):
    runs = tmp_path / "runs"
    shutil.copytree(graded, runs / "a")
    shutil.copytree(graded, runs / "deep" / "b")
    (tmp_path / "link").symlink_to(runs / "a")

    def systems(*paths):
        result = run("report", *paths, "--json", cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        found = json.loads(result.stdout)
        return found["runs"], sorted(found["rates"]["all"]), len(found["grades"])

    once = (["runs/a"], ["me", "you"], 4)
    assert systems("runs/a") == systems("runs/a", "runs/a/", "link", runs / "a", "runs/../runs/a") == once
    both = ["me (runs/a)", "me (runs/deep/b)", "you (runs/a)", "you (runs/deep/b)"]
    assert systems("runs") == systems("runs", "runs/a", "link") == (["runs/a", "runs/deep/b"], both, 8)
    # A link below is a run like another, and one that leads back up is not followed.
    (runs / "again").symlink_to(runs / "a")
    (runs / "loop").symlink_to(tmp_path)
    assert systems("runs")[2] == 8
    result = run("analyse", "structure", "runs/a", "link", "--suite", toy_suite, "--json", cwd=tmp_path)
    assert json.loads(result.stdout)["ours"]["answers"] == 4, result.stderr
    nowhere = run("report", "runs/a", "nowhere", cwd=tmp_path)
    assert (nowhere.returncode, nowhere.stderr) == (2, "lmrbench: nowhere: there is no such run folder\n")


def test_a_mean_over_tasks_stands_behind_no_count_of_all_answers(graded, tmp_path):
    folder = shutil.copytree(graded, tmp_path / "run")
    first = json.loads((folder / "grades.jsonl").read_text().splitlines()[0])
    lines = [
        {**first, "system": "me", "task": task, "sample": sample, "correct": passed, "robust": passed}
        for task, sample, passed in (("toy/blend", 0, True), ("toy/blend", 1, True), ("other/one", 0, False))
    ]
    (folder / "grades.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    text = run("report", "run", "--full", cwd=tmp_path).stdout
    (row,) = [line.split() for line in text.splitlines() if line.startswith("all ")]
    assert "2/3" not in row
    assert [row[1], row[2], row[3]] == ["2", "3", "50.0%"]


def test_what_nothing_was_submitted_for_is_said_in_every_form(graded, two_papers, toy_suite, tmp_path):
    shutil.copytree(graded, tmp_path / "run")
    said = "me: nothing submitted for 1 of 2 tasks"

    files = ("--html", "report.html", "--csv", "tables")
    text = run("report", "run", "--full", "--suite", two_papers, *files, cwd=tmp_path).stdout
    assert said in text.splitlines()
    assert "1 of 2" in next(line for line in text.splitlines() if line.startswith("all "))
    assert said in run("report", "run", "--suite", two_papers, "--markdown", cwd=tmp_path).stdout.splitlines()
    assert said in (tmp_path / "report.html").read_text()
    found = json.loads(run("report", "run", "--suite", two_papers, "--json", cwd=tmp_path).stdout)
    assert found["not_submitted"] == {"me": ["other/blend"], "you": ["other/blend"]}
    run("site", "run", "--to", "site", "--suite", two_papers, cwd=tmp_path)
    assert "1 of 2 tasks" in (tmp_path / "site" / "index.html").read_text()
    complete = run("report", "run", "--suite", toy_suite, cwd=tmp_path).stdout
    assert "nothing submitted" not in complete


def test_a_run_without_any_answer_has_no_tables_of_nothing(tmp_path):
    shutil.copytree(STORED, tmp_path / "run")
    (tmp_path / "run" / "grades.jsonl").unlink()
    result = run("report", "run", cwd=tmp_path)
    assert result.returncode == 0
    assert "0/0" not in result.stdout
    assert "Unanswered samples" in run("report", "run", "--full", cwd=tmp_path).stdout


def test_a_run_from_elsewhere_is_reported_with_a_word_and_what_nobody_answered_stands_apart(tmp_path):
    shutil.copytree(STORED, tmp_path / "run")

    result = run("report", "run", cwd=tmp_path)

    assert result.returncode == 0
    assert result.stderr == "lmrbench: run: 1 of 1 grades were not made by this installation\n"
    _, _, apart = run("report", "run", "--full", cwd=tmp_path).stdout.partition("Unanswered samples")
    assert "provider error" in apart


def test_a_run_that_was_killed_is_reported_as_far_as_it_came(graded, tmp_path):
    killed = shutil.copytree(graded, tmp_path / "killed")
    lines = (killed / "grades.jsonl").read_bytes().splitlines(keepends=True)
    (killed / "grades.jsonl").write_bytes(b"".join(lines[:2]) + lines[2][:100])

    found = json.loads(run("report", "killed", "--json", cwd=tmp_path).stdout)

    assert len(found["grades"]) == 2


def test_runs_of_different_suites_are_not_to_be_compared(graded, tmp_path):
    shutil.copytree(graded, tmp_path / "first")
    shutil.copytree(STORED, tmp_path / "second")
    result = run("report", "first", "second", cwd=tmp_path)
    assert "lmrbench: the runs used different versions of the suite" in result.stderr


def test_a_task_that_nobody_answered_has_its_category(tmp_path):
    shutil.copytree(STORED, tmp_path / "run")
    (tmp_path / "run" / "grades.jsonl").unlink()
    usage = tmp_path / "run" / "usage.jsonl"
    usage.write_text(usage.read_text().replace("toy/blend", "dpo/preference_loss"))
    found = json.loads(run("report", "run", "--json", cwd=tmp_path).stdout)
    assert set(found["rates"]) == {"all", "training_objectives"}


@pytest.mark.sandbox
def test_what_needs_no_model_runs_in_any_sandbox(toy_suite, tmp_path):
    arguments = ("--quiet", "run", "--suite", toy_suite, "--sandbox", "process", "--workers", 1, "--out", "run")
    result = run(*arguments, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert json.loads((tmp_path / "run" / "run.json").read_text())["sandbox"] == "process"
    rows = [line.split()[:3] for line in result.stdout.splitlines()]
    assert ["golden", "1", "100.0%"] in rows
    assert ["mask", "1", "0.0%"] in rows


def test_what_is_no_run_is_said(tmp_path):
    result = run("report", ".", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (2, "lmrbench: .: this folder contains no run\n")


def test_why_shows_the_failed_cases_and_both_pieces_of_code_with_their_lines(graded, toy_suite):
    arguments = ("why", graded, "toy/blend", "--suite", toy_suite, "--system", "me")

    result = run(*arguments, "--sample", 1, cwd=graded.parent)

    assert result.returncode == 0, result.stderr
    assert "sample 1 of me: not correct" in result.stdout
    assert "mismatch" in result.stdout
    goal = (toy_suite / "toy" / "repo" / "blending.py").read_text().splitlines()
    (number,) = [number for number, line in enumerate(goal, 1) if line.lstrip().startswith("def blend(")]
    (both,) = [line.split() for line in result.stdout.splitlines() if "def blend(" in line]
    assert [word for word in both if word.isdigit()] == [str(number), str(number)]
    assert "raise NotImplementedError" in result.stdout
    assert "sum(map(" in result.stdout

    unusable = run(*arguments, "--sample", 2, cwd=graded.parent)
    # All cases fail for one reason, so they share a row.
    assert ", and 3 others" in unusable.stdout
    assert "no code can be taken from this answer" in unusable.stdout
    assert "\\n" not in unusable.stdout
    assert "no code at all" in unusable.stdout
    cases = json.loads(run(*arguments, "--sample", 1, "--json", cwd=graded.parent).stdout)["failed_cases"]
    assert {case["verdict"] for case in cases} == {"mismatch"}


def test_why_asks_which_answer_is_meant(graded, toy_suite):
    assert (run("why", graded, "empathy_gaps", cwd=graded.parent).stderr) == (
        "lmrbench: 'empathy_gaps' names 2 tasks: empathy_gaps/get_delta, empathy_gaps/get_filtered_matrix\n"
    )
    for more in ((), ("--system", "me", "--sample", "7"), ("--system", "nobody")):
        result = run("why", graded, "toy/blend", "--suite", toy_suite, *more, cwd=graded.parent)
        assert result.returncode == 2
        assert result.stderr.count("\n") == 1
        assert "--system and --sample" in result.stderr


def test_why_shows_the_first_sample_that_fails_and_says_so(graded, toy_suite):
    result = run("why", graded, "toy/blend", "--system", "me", "--suite", toy_suite, cwd=graded.parent)
    assert result.returncode == 0, result.stderr
    line = "toy/blend, sample 1 of me: not correct (first failing sample; 2 of 3 samples failed); 3 of 4 cases failed"
    assert result.stdout.splitlines()[0] == line
    passed = run("why", graded, "toy/blend", "--system", "you", "--suite", toy_suite, cwd=graded.parent)
    assert passed.stdout.startswith("toy/blend, sample 0 of you: correct and robust; 0 of 4 cases failed\n")


def test_why_without_a_task_lists_the_failures_of_the_run(graded):
    result = run("why", graded, cwd=graded.parent)
    assert result.returncode == 0, result.stderr
    rows = [line.split() for line in result.stdout.splitlines()]
    assert [row[:3] for row in rows if "toy/blend" in row] == [["me", "toy/blend", "1"], ["me", "toy/blend", "2"]]
    assert result.stdout.endswith("2 of 4 answers failed at least one case\n")
    found = json.loads(run("why", graded, "--json", "--sample", 2, cwd=graded.parent).stdout)["failures"]
    assert [(item["system"], item["sample"], item["first_failure"]["verdict"]) for item in found] == [
        ("me", 2, "missing")
    ]
    none = run("why", graded, "--system", "you", cwd=graded.parent)
    assert (none.returncode, none.stdout) == (0, "0 of 1 answer failed at least one case\n")


def test_why_works_where_the_answers_themselves_are_not_there(graded, toy_suite, tmp_path):
    shutil.copytree(graded, tmp_path / "run")
    (tmp_path / "run" / "submissions.jsonl").unlink()
    result = run("why", "run", "toy/blend", "--suite", toy_suite, "--system", "me", "--sample", 1, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "mismatch" in result.stdout
    assert "contains the grade but not the answer" in result.stdout
