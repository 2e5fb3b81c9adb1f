"""Resumed runs repeat no request and count only grades of their own, whatever happened to the folder."""

import json

import pytest
from inspect_ai.log import list_eval_logs, read_eval_log
from tests.solving.helpers import MODEL, asked_for, chosen, fenced, golden, lines, lmrbench
from tests.solving.server import Reply, serving

pytestmark = pytest.mark.sandbox


def test_a_folder_that_was_renamed_forged_and_graded_under_other_seeds_is_reported_as_it_is(papers, tmp_path):
    def script(request):
        code = golden(asked_for(request))
        return Reply(fenced(code if asked_for(request) == "toy" else "no"))

    arguments = ("--model", MODEL, *chosen(papers, "toy", "other"))
    with serving(script) as (base, log):
        first = lmrbench(base, "run", "--no-report", *arguments, "--out", tmp_path / "run")
        assert "1 of 2 answers pass" in first.stdout, first.stderr
        (tmp_path / "run").rename(tmp_path / "renamed")
        grades = tmp_path / "renamed" / "grades.jsonl"
        grades.write_text(grades.read_text().replace('"correct":false', '"correct":true'))

        forged = lmrbench(base, "run", "--no-report", *arguments, "--out", tmp_path / "renamed")
        graded = lmrbench(base, "grade", tmp_path / "renamed", "--suite", papers, "--seeds", 2, "--json")
        again = lmrbench(base, "run", *arguments, "--out", tmp_path / "renamed", "--json")

    assert "1 of 2 answers pass" in forged.stdout, forged.stderr
    assert "1 grade was not made by this installation" in forged.stderr
    assert len(log.requests) == 2
    assert len(json.loads(graded.stdout)["seeds"]) == 2
    report = json.loads(again.stdout[again.stdout.index("{") :])
    facts = json.loads((tmp_path / "renamed" / "run.json").read_text())
    assert [item["seeds"] for item in report["grades"]] == [facts["seeds"]] * 2
    assert len(facts["seeds"]) == 1


def test_a_run_grows_by_samples_and_asks_for_those_alone(papers, tmp_path):
    def script(request):
        code = golden(asked_for(request))
        return Reply(fenced(code if len(log.requests) % 2 else "no"))

    arguments = ("--model", MODEL, *chosen(papers, "toy"), "--out", tmp_path / "run")
    with serving(script) as (base, log):
        lmrbench(base, "run", "--no-report", *arguments)
        first = (tmp_path / "run" / "submissions.jsonl").read_text()
        asked = len(log.requests)
        grown = lmrbench(base, "run", "--no-report", *arguments, "--samples", 3, "--json")
        graded = [item["sample"] for item in lines(tmp_path / "run" / "grades.jsonl")]
        logs = [read_eval_log(info) for info in list_eval_logs(str(tmp_path / "run" / "logs"))]
        fewer = lmrbench(base, "run", "--no-report", *arguments, "--samples", 2)
        wider = lmrbench(base, "run", "--no-report", *arguments, "--task", "other", "--samples", 3, "--json")

    assert asked == 1
    # No sample ran again, which would take an agent another session.
    assert len({sample.uuid for item in logs for sample in item.samples if sample.epoch == 1}) == 1
    assert graded.count(0) == 1
    assert sorted(graded) == [0, 1, 2]
    assert len(json.loads(wider.stdout)["grades"]) == 6
    assert len(lines(tmp_path / "run" / "grades.jsonl")) == 6
    assert len(log.requests) == 6
    assert sorted(item["sample"] for item in json.loads(grown.stdout)["grades"]) == [0, 1, 2]
    assert (tmp_path / "run" / "submissions.jsonl").read_text().startswith(first)
    assert fewer.returncode == 2
    assert "contains answers made with other settings (samples " in fewer.stderr
