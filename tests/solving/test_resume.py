"""A run that goes on, whatever has happened to its folder: it asks nothing twice and counts only its own grades."""

import json

from tests.solving.helpers import MODEL, asked_for, fenced, golden, lmrbench
from tests.solving.server import Reply, serving


def test_a_folder_that_was_renamed_forged_and_graded_under_other_seeds_is_reported_as_it_is(tmp_path):
    def script(request):
        code = golden(asked_for(request))
        return Reply(fenced(code if asked_for(request).id == "dpo/preference_loss" else "no"))

    arguments = ("--model", MODEL, "--task", "dpo", "--task", "simclr")
    with serving(script) as (base, log):
        first = lmrbench(base, "solve", *arguments, "--out", tmp_path / "run")
        assert "1 of 2 answers pass" in first.stdout, first.stderr
        (tmp_path / "run").rename(tmp_path / "renamed")
        grades = tmp_path / "renamed" / "grades.jsonl"
        grades.write_text(grades.read_text().replace('"passed":false', '"passed":true'))

        forged = lmrbench(base, "solve", *arguments, "--out", tmp_path / "renamed")
        graded = lmrbench(base, "grade", tmp_path / "renamed", "--seeds", 2, "--json")
        again = lmrbench(base, "run", *arguments, "--out", tmp_path / "renamed", "--json")

    assert "1 of 2 answers pass" in forged.stdout, forged.stderr
    assert "1 grade was not made by this installation" in forged.stderr
    assert len(log.requests) == 2
    assert len(json.loads(graded.stdout)["seeds"]) == 2
    report = json.loads(again.stdout[again.stdout.index("{") :])
    facts = json.loads((tmp_path / "renamed" / "run.json").read_text())
    assert [item["seeds"] for item in report["grades"]] == [facts["seeds"]] * 2
    assert len(facts["seeds"]) == 1
