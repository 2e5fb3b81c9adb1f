"""The scorer `lmrbench/judge` on logs of runs: the prompts of the command, and no score without a category."""

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import inspect_ai
import pytest
from inspect_ai.log import list_eval_logs, read_eval_log, write_eval_log
from tests.judging.helpers import (
    ARGUES,
    KIND,
    POINTS,
    RIGHT,
    WRONG,
    blocks,
    candidate_of,
    opinion,
    prompt_of,
    says,
    sees_the_weights,
)
from tests.solving.helpers import MODEL, environment, fenced, lines, lmrbench
from tests.solving.server import Reply, serving

from lmrbench.judging import scoring
from lmrbench.solving import run as solving_runs
from lmrbench.solving.task import OptionError

# The answers in the log, by a word that identifies each.
ANSWERS = {"weights(": RIGHT, "mean_of": WRONG, "NOTE TO THE JUDGE": ARGUES, "I can't": "I can't."}


def log_of(run):
    (info,) = list_eval_logs(str(run / "logs"))
    return read_eval_log(info)


@pytest.fixture(scope="module")
def solved(tmp_path_factory, toy_suite):
    """Create a run with an answer of each kind and a sample that the provider failed on."""
    run = tmp_path_factory.mktemp("solved") / "run"
    replies = [*map(fenced, (RIGHT, WRONG, ARGUES)), "I can't."]

    def script(request):
        return Reply(replies[request.number]) if request.number < len(replies) else Reply(status=500)

    with serving(script) as (base, _):
        options = ("--suite", toy_suite, "--model", MODEL, "--samples", 5, "--connections", 1, "--retries", 0)
        done = lmrbench(base, "run", "--no-report", *options, "--out", run)
    assert done.returncode == 4, done.stderr
    return run


@pytest.fixture
def scored(solved, toy_suite, monkeypatch):
    """Score the log with a scripted judge; return the score of each answer, the log, and the judge's prompts."""

    def call(script, small=lambda: Reply("OK"), change=lambda log: None, **options):
        log = log_of(solved)
        change(log)
        with serving(script, small) as (base, asked):
            monkeypatch.setenv("LOCAL_BASE_URL", base)
            judged = inspect_ai.score(
                log, scoring.judge(**{"model": KIND, "suite": str(toy_suite), **options}), display="none"
            )
        kinds = {}
        for sample in judged.samples or []:
            own = (sample.scores or {}).get("unit_tests")
            kinds[next((word for word in ANSWERS if own and word in str(own.answer)), "")] = sample.scores["judge"]
        assert len(kinds) == 5
        return kinds, judged, asked

    return call


def metrics_of(log):
    (found,) = [item for item in log.results.scores if item.name == "judge"]
    return {name: item.value for name, item in found.metrics.items()}, found.scored_samples, found.unscored_samples


@pytest.mark.sandbox
def test_from_the_command_line_after_an_agent_whose_workspace_is_gone(tmp_path, toy_suite):
    goal = "import numpy\n\nfrom weighting import weights\n\n\nclass Blender:\n" + "".join(
        f"    {line}\n" for line in WRONG.partition("\n\n")[2].splitlines()
    ).replace("mean_of(values)", "sum(values) / len(values)")
    write = ("python", {"code": f"open('/workspace/repo/blending.py', 'w').write({goal!r})"})

    def script(request):
        if "## Candidate" in request.text:
            return sees_the_weights(request)
        return Reply(tool=("submit", {"answer": "done"}) if request.number else write)

    run, judged = tmp_path / "run", tmp_path / "judged.eval"
    with serving(script) as (base, _):
        arguments = ("--suite", toy_suite, "--model", MODEL, "--setting", "agent", "--out", run)
        done = lmrbench(base, "run", "--no-report", *arguments)
        assert done.returncode == 0, done.stderr
        (info,) = list_eval_logs(str(run / "logs"))
        command = [Path(sys.executable).with_name("inspect"), "score", info.name, "--scorer", "lmrbench/judge"]
        command += ["-S", f"model={KIND}", "-S", f"suite={toy_suite}", "-S", "votes=3"]
        command += ["--action", "overwrite", "--output-file", judged]
        subprocess.run(list(map(str, command)), env=environment(base), check=True, timeout=600)

    (sample,) = read_eval_log(str(judged)).samples or []
    ((name, score),) = sample.scores.items()
    assert (name, score.value) == ("judge", "LC")
    facts = score.metadata
    assert facts["judge"] == KIND
    assert [(vote["error_class"], vote["logic"]) for vote in facts["votes"]] == [("problem context", POINTS)] * 3


def test_it_asks_what_the_command_asks_and_keeps_what_the_command_keeps(scored, solved, judge, tmp_path):
    run = shutil.copytree(solved, tmp_path / "run")
    with serving(sees_the_weights) as (base, by_command):
        done = judge(base, run, "--model", KIND, "--votes", 2, "--swap")
    assert done.returncode == 0, done.stderr

    scores, _, by_scorer = scored(sees_the_weights, votes=2, swap=True)

    assert len(by_scorer.requests) == 12
    assert by_scorer.asked == by_command.asked
    votes = [vote for score in scores.values() for vote in (score.metadata or {}).get("votes", [])]
    assert sorted(map(json.dumps, votes)) == sorted(map(json.dumps, lines(run / "judgements.jsonl")))


def test_shares_are_of_what_was_judged_and_a_candidate_that_argues_is_data(scored):
    def gullible(request):
        """Obey instructions outside of the fenced blocks."""
        candidate = candidate_of(prompt_of(request))
        if "answer CC" in candidate:
            return says("CC") if "answer CC" in blocks(prompt_of(request))[1] else says("LI", "policy")
        return sees_the_weights(request)

    scores, log, asked = scored(gullible)

    assert [scores[word].value for word in ("weights(", "mean_of", "NOTE TO THE JUDGE")] == ["CC", "LC", "LI"]
    assert scores["mean_of"].explanation == f"LC (problem context): {' '.join(POINTS * 2)}"
    # The two others have no code to judge.
    assert scores["I can't"].explanation.startswith("no code to judge: ")
    assert scores["I can't"].reason == "invalid_response_format"
    assert scores[""].explanation == "the log contains no submission"
    assert all(math.isnan(scores[word].value) for word in ("I can't", ""))
    assert metrics_of(log) == ({name: pytest.approx(1 / 3) for name in ("CC", "LC", "LI")}, 3, 2)
    assert len(asked.requests) == 3


def test_what_is_no_judgement_is_no_score(scored, caplog):
    replies = {
        "weights(": Reply("I'm sorry.", refusal=True),
        "mean_of": Reply('{"category": "CC", "logic": ['),
        "NOTE TO THE JUDGE": Reply("```json\n" + json.dumps(opinion("LI", "policy")) + "\n```"),
    }

    def script(request):
        return next(reply for word, reply in replies.items() if word in candidate_of(prompt_of(request)))

    scores, log, asked = scored(script)

    assert scores["NOTE TO THE JUDGE"].value == "LI"
    assert [scores[word].reason for word in ("weights(", "mean_of")] == ["grader_failed"] * 2
    assert all(math.isnan(scores[word].value) for word in ("weights(", "mean_of"))
    assert scores["weights("].explanation == "refused: I'm sorry."
    assert scores["mean_of"].metadata["votes"][0]["status"] == "unparsable"
    assert metrics_of(log) == ({"CC": 0, "LC": 0, "LI": 1}, 1, 4)
    # Each is asked three times, as by the command.
    assert len(asked.requests) == 7
    assert sum("left unscored: " in line for line in caplog.messages) == 4
    assert all("\n" not in line for line in caplog.messages)


def test_votes_that_differ_are_a_tie_and_no_score(scored):
    def prefers_the_first(request):
        text = prompt_of(request)
        return says("CC") if text.index("## Candidate") < text.index("## Reference") else says("LC", "code robustness")

    scores, log, asked = scored(prefers_the_first, swap=True, strip_comments=True)

    assert math.isnan(scores["weights("].value)
    assert scores["weights("].explanation == "the votes are LC, CC"
    assert scores["weights("].reason == "tie"
    assert metrics_of(log)[1:] == (0, 5)
    assert not any("NOTE TO THE JUDGE" in request.text for request in asked.requests)


def test_a_provider_that_does_not_answer_leaves_samples_unscored(scored):
    scores, _, asked = scored(sees_the_weights, small=lambda: Reply(status=401, message="wrong key"))

    assert (len(asked.requests), asked.small) == (0, 1)
    assert "provider_error: " in scores["mean_of"].explanation
    assert "wrong key" in scores["mean_of"].explanation


def test_other_tasks_than_those_of_the_log_are_not_judged(scored):
    def other_version(log):
        for sample in log.samples:
            sample.metadata["task_digest"] = "0"

    def damaged(log):
        for sample in log.samples:
            sample.store.get("lmrbench:submission", {}).pop("system", None)

    elsewhere, _, first = scored(sees_the_weights, suite="")
    changed, _, second = scored(sees_the_weights, change=other_version)
    broken, _, third = scored(sees_the_weights, change=damaged)

    assert not [*first.requests, *second.requests, *third.requests]
    assert elsewhere["mean_of"].explanation == "toy/blend: no such task in the suite; choose another suite with suite="
    assert changed["mean_of"].explanation.startswith("toy/blend: the suite's version of the task differs")
    assert broken["mean_of"].explanation == "the log: system: missing"


def test_what_a_judge_costs_is_not_counted_as_the_runs(scored, solved, tmp_path):
    run = shutil.copytree(solved, tmp_path / "run")
    (info,) = list_eval_logs(str(run / "logs"))
    _, log, _ = scored(sees_the_weights)
    write_eval_log(log, info.name)
    before = (run / "usage.jsonl").read_text()

    solving_runs.write_usage(run, MODEL, set(), "")

    assert (run / "usage.jsonl").read_text() == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": ""}, "model= is missing"),
        ({"model": "nobody/nothing"}, "the model nobody/nothing can't be opened: "),
        ({"model": ["a", "b"]}, "model=.* must be a valid string"),
        ({"votes": 0}, "votes=0: must be greater"),
        ({"protocol": "paper", "swap": True}, "swap can't be used with the paper's protocol"),
        ({"protocol": "paper", "temperature": 0.5}, "temperature 0.5: the paper's protocol requires 0"),
        ({"evidence": True}, "there is no option evidence=; use model, suite, votes, "),
        ({"suite": "/nowhere"}, "/nowhere: there is no such suite folder"),
    ],
)
def test_a_wrong_option_is_one_line(monkeypatch, options, words):
    monkeypatch.setenv("LOCAL_BASE_URL", "http://127.0.0.1:1/v1")
    with pytest.raises(OptionError, match=words) as caught:
        scoring.judge(**{"model": KIND, **options})
    assert "\n" not in str(caught.value)
