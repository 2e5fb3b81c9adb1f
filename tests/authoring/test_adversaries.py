"""A scripted adversary attacks the toy task's check, and its versions become part of the task."""

import json

import pytest
from tests import running
from tests.solving.helpers import environment
from tests.solving.server import Reply, serving

from lmrbench.authoring.adversaries import Finding, Proposal, proposals_in

pytestmark = pytest.mark.sandbox

BLEND = """from weighting import weights


class Blender:
    def blend(self, values):
        {}
"""
RIGHT = (
    "factors = weights(len(values))\n        if not values:\n            return 0.0\n"
    "        return self.scale * sum(w * v for w, v in zip(factors, values)) / sum(factors)"
)
# The check never calls an object twice, and has no value above three.
KEPT = RIGHT.replace("factors =", "self.scale = self.__dict__.setdefault('first', self.scale)\n        factors =")
CLIPPED = RIGHT.replace("w * v", "w * min(v, 5.0)")
UNWEIGHTED = "return self.scale * sum(values) / len(values) if values else 0.0"
SPACES = RIGHT.replace(" * ", "*")
EDITED = """
base = "def blend(self, values): return sum(values)"

[clipped]
why = "Clips the sum."
edits = [{ old = "def blend(self, values): return sum(values)", new = "def blend(self, values): return 1.0" }]
"""


def section(kind, body, probe="", sentence="the mean of `values`"):
    blocks = f"```python\n{BLEND.format(body)}```\n" + (f"```python\n{probe}\n```\n" if probe else "")
    return f"### {kind}\n" + (f"Violates: {sentence}\n" if kind == "wrong" else "") + blocks


PROBE = "def probe():\n    from blending import Blender\n    return Blender(2.0).blend([{}])"
ANSWER = "Here they are.\n\n" + "\n".join(
    [
        section("wrong", UNWEIGHTED, PROBE.format("1.0, 2.0")),
        section("wrong", CLIPPED, PROBE.format("7.0")),
        section("wrong", SPACES, PROBE.format("1.0, 2.0")),
        section("right", SPACES + "  # in one go"),
        section("right", "return 1 / 0"),
    ]
)


def lmrbench(base, folder, *arguments):
    cache = {"INSPECT_CACHE_DIR": str(folder / "inspect")}
    return running.lmrbench(*arguments, env=environment(base) | cache, cwd=folder)


def attack(base, folder, suite, *arguments):
    options = ("--wrong", 3, "--right", 2, "--suite", suite, *arguments)
    return lmrbench(base, folder, "task", "audit", "--adversary", "openai-api/local/model", *options)


def test_wrong_ones_that_pass_and_right_ones_that_fail_are_found_and_nothing_is_asked_twice(suite, tmp_path):
    with serving(lambda request: Reply(ANSWER)) as (base, log):
        first = attack(base, tmp_path, suite)
        assert first.returncode == 1, first.stderr
        asked = len(log.requests)
        again = attack(base, tmp_path, suite, "--json")
        told = log.requests[0].text

    # A solver's view and the golden, not the check.
    assert "weighting.py" in told
    assert "golden/blending.py" in told
    assert "generator.uniform" not in told
    assert asked == len(log.requests) == 1
    found = {item["number"]: item for item in json.loads(again.stdout)}
    assert [found[number]["passed"] for number in range(5)] == [False, True, True, True, False]
    assert [found[number]["amiss"] for number in range(5)] == [False, True, False, False, True]
    assert found[1]["told_apart_by"] == "its own input: expected 14.0, got 10.0"
    assert "ZeroDivisionError" in found[4]["rejected_by"]
    assert "wrong version 1 passes but violates this sentence: the mean of `values`" in first.stdout
    assert "right version 4 is meant to be right but fails" in first.stdout


def test_what_is_accepted_is_tried_in_every_audit(suite, tmp_path):
    with serving(lambda request: Reply(ANSWER)) as (base, _):
        attack(base, tmp_path, suite)
    taken = lmrbench("", tmp_path, "task", "accept", "adversaries.jsonl", "toy/blend", 1, "clipped", "--suite", suite)
    twice = lmrbench("", tmp_path, "task", "accept", "adversaries.jsonl", "toy/blend", 1, "clipped", "--suite", suite)
    none = lmrbench("", tmp_path, "task", "accept", "adversaries.jsonl", "toy/blend", 9, "other", "--suite", suite)
    unfit = lmrbench("", tmp_path, "task", "accept", "adversaries.jsonl", "toy/blend", 1, "../../up", "--suite", suite)

    assert "min(v, 5.0)" in (suite / "toy" / "wrong" / "blend" / "clipped.py").read_text()
    assert taken.stdout.strip().endswith("wrong/blend/clipped.py")
    assert [result.returncode for result in (taken, twice, none, unfit)] == [0, 2, 2, 2]
    assert "already exists" in twice.stderr
    assert "there is no finding with number 9 for toy/blend" in none.stderr
    audited = lmrbench("", tmp_path, "task", "audit", "--quick", "--suite", suite)
    assert "the check accepts the wrong version clipped" in audited.stdout


def test_a_name_that_an_edited_version_has_is_not_given_again(suite, tmp_path):
    wrong = suite / "toy" / "wrong"
    (wrong / "blend.toml").write_text(EDITED)
    proposal = Proposal(kind="wrong", code=BLEND.format(CLIPPED))
    finding = Finding(task="toy/blend", digest="", model="", number=0, proposal=proposal, passed=True)
    (tmp_path / "adversaries.jsonl").write_text(finding.model_dump_json() + "\n")
    command = ("task", "accept", "adversaries.jsonl", "toy/blend", 0)
    refused = lmrbench("", tmp_path, *command, "clipped", "--suite", suite)
    taken = lmrbench("", tmp_path, *command, "clipped_at_five", "--suite", suite)

    assert (refused.returncode, taken.returncode) == (2, 0)
    assert refused.stderr.strip().endswith("wrong/blend: clipped already exists; choose another name")
    assert [file.name for file in sorted((wrong / "blend").glob("clipped*"))] == ["clipped_at_five.py"]


def test_a_model_that_does_not_answer_is_one_line(suite, tmp_path):
    with serving(lambda request: Reply(status=401)) as (base, _):
        result = attack(base, tmp_path, suite)

    assert result.returncode == 4
    assert len(result.stderr.strip().splitlines()) == 1
    assert "openai-api/local/model did not answer" in result.stderr


def test_sections_without_code_are_left_out():
    assert (
        proposals_in("### wrong\nViolates: all of it\n\nI will not.\n### right\n```python\nx = 1\n```\n")[0].code
        == "x = 1\n"
    )
    assert proposals_in("No.") == []
