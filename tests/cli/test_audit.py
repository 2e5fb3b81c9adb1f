"""`lmrbench task audit` as a user meets it."""

import json

import pytest
from tests.running import lmrbench


@pytest.mark.sandbox
def test_what_falls_short_is_named_and_the_exit_code_says_no(suite):
    result = lmrbench("task", "audit", "--seeds", 1, "--suite", suite)

    assert result.returncode == 1
    assert "toy/blend: too few rewrites: 1; the minimum is 3" in result.stdout
    assert "toy/blend: no rewrite is named plain" in result.stdout
    assert "toy/blend: too few wrong versions: 2; the minimum is 8" in result.stdout


def test_check_runs_nothing_and_refuses_a_missing_certificate(suite):
    result = lmrbench("task", "audit", "--check", "--json", "--suite", suite)

    assert result.returncode == 1
    assert json.loads(result.stdout) == [
        {
            "task": "toy/blend",
            "shortfalls": [
                "no valid certificate: the task has not been audited yet; run `lmrbench task audit toy/blend`"
            ],
            "other_tiers": [],
        }
    ]
    assert not (suite / "toy" / "certificate.json").exists()


@pytest.mark.parametrize(("file", "place"), [("paper.md", "paper.md:2"), ("task.toml", "task.toml:2")])
def test_what_is_marked_as_still_to_do_falls_short(suite, file, place):
    text = (suite / "toy" / file).read_text()
    mark = "# TODO: the venue" if file == "task.toml" else "TODO: a summary"
    head, rest = text.split("\n", 1)
    (suite / "toy" / file).write_text(f"{head}\n{mark}\n{rest}")

    result = lmrbench("task", "audit", "--check", "--json", "--suite", suite)

    assert result.returncode == 1
    assert json.loads(result.stdout)[0]["shortfalls"][-1] == f"{place}: marked TODO; fill it in"


@pytest.mark.sandbox
def test_quick_writes_no_certificate_and_a_full_audit_is_shown(suite):
    lmrbench("task", "audit", "--quick", "--suite", suite)
    assert not (suite / "toy" / "certificate.json").exists()
    assert "missing or outdated" in lmrbench("show", "toy/blend", "--suite", suite).stdout

    lmrbench("task", "audit", "--seeds", 2, "--suite", suite)
    shown = lmrbench("show", "toy/blend", "--suite", suite).stdout

    assert "0 flakes in 8 cases of 2 seeds" in shown
    assert "2 of 2 wrong versions" in shown


def test_a_good_task_passes_check(suite):
    # The suite's own tasks have whole certificates.
    result = lmrbench("task", "audit", "dpo", "--check")

    assert result.returncode == 0, result.stdout


@pytest.mark.sandbox
def test_new_words_for_the_solver_need_no_new_runs(suite):
    lmrbench("task", "audit", "--seeds", 2, "--suite", suite)
    file = suite / "toy" / "certificate.json"
    before = json.loads(file.read_text())["blend"]
    with (suite / "toy" / "paper.md").open("a") as summary:
        summary.write("\nOne more sentence.\n")
    # A run would name this other sandbox.
    again = lmrbench("task", "audit", "--seeds", 2, "--suite", suite, "--sandbox", "process", "--workers", 1)
    after = json.loads(file.read_text())["blend"]

    assert "toy/blend: too few rewrites: 1; the minimum is 3" in again.stdout
    assert after["digest"] != before["digest"]
    assert {**after, "digest": ""} == {**before, "digest": ""}
