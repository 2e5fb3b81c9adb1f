"""`lmrbench grade` on predictions as SWE-bench's harness takes them: a patch for each instance."""

import difflib
import json
import os
import re

import pytest
from tests.running import lmrbench as run

pytestmark = pytest.mark.sandbox

RIGHT = (
    "return self.scale * sum(f * v for f, v in zip(weights(len(values)), values)) / max(sum(weights(len(values))), 1.0)"
)


def patch(workspace, answer):
    """What `git diff` says of the repository where the answer has been written into the mask."""
    before = (workspace / "repo" / "blending.py").read_text().splitlines(keepends=True)
    after = [line.replace("raise NotImplementedError", answer) for line in before]
    header = "diff --git a/blending.py b/blending.py\n"
    return header + "".join(difflib.unified_diff(before, after, "a/blending.py", "b/blending.py"))


def write(file, *predictions):
    usual = {"instance_id": "toy__blend", "model_name_or_path": "me"}
    file.write_text("".join(f"{json.dumps(usual | item)}\n" for item in predictions))
    return file


def test_patches_are_graded_as_they_are(toy_suite, tmp_path):
    run("export", "toy", "--to", "work", "--suite", toy_suite, cwd=tmp_path)
    workspace = tmp_path / "work" / "toy" / "blend"
    right, wrong = patch(workspace, RIGHT), patch(workspace, "return 0.0")
    assert RIGHT in right
    predictions = [
        {"model_patch": right, "cost": 0.2, "full_output": "thoughts"},
        {"model_patch": wrong},
        {"model_patch": right, "model_name_or_path": "another", "instance_id": "toy/blend"},
        {"model_patch": "no patch", "model_name_or_path": "another"},
        {"model_patch": None, "model_name_or_path": "silent"},
        {"model_patch": right.replace("-        raise", "-        pass"), "model_name_or_path": "stale"},
    ]
    file = write(tmp_path / "predictions.jsonl", *predictions)

    for _ in range(2):
        # The second time it is all known.
        result = run("grade", file, "--suite", toy_suite, "--out", "run", "--json", cwd=tmp_path)

        grades = json.loads(result.stdout)["grades"]
        passed = {(item["system"], item["sample"]): item["correct"] for item in grades}
        expected = {("me", 0): True, ("me", 1): False, ("another", 0): True, ("another", 1): False}
        assert passed == expected | {("silent", 0): False, ("stale", 0): False}
        said = {item["system"]: item["warnings"] for item in grades if item["sample"] == 0}
        assert any("patch" in line for line in said["silent"])
        assert any("does not apply" in line for line in said["stale"])


def test_an_instance_that_is_no_task_is_named_with_its_line(toy_suite, tmp_path):
    file = write(tmp_path / "predictions.jsonl", {"model_patch": ""}, {"instance_id": "toy__other"})

    result = run("grade", file, "--suite", toy_suite, cwd=tmp_path)

    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "predictions.jsonl: prediction 2: there is no task 'toy__other'" in result.stderr


def test_predictions_in_one_json_text_are_read_as_lines_are(toy_suite, tmp_path):
    run("export", "toy", "--to", "work", "--suite", toy_suite, cwd=tmp_path)
    right = patch(tmp_path / "work" / "toy" / "blend", RIGHT)
    item = {"instance_id": "toy__blend", "model_name_or_path": "me", "model_patch": right, "cost": 1}
    texts = {
        "list": json.dumps([item, item | {"model_patch": "no patch"}]),
        "indented": json.dumps([item], indent=1),
        "mapping": json.dumps({"toy__blend": item}),
        "indented_mapping": json.dumps({"toy/blend": item}, indent=2),
        "short": json.dumps({"toy__blend": {"model_name_or_path": "me", "model_patch": right}}),
        "patches": json.dumps({"toy__blend": right}),
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.json").write_text(text)

        result = run("grade", f"{name}.json", "--suite", toy_suite, "--out", f"run_{name}", "--json", cwd=tmp_path)

        assert result.returncode == 0, (name, result.stderr)
        grades = json.loads(result.stdout)["grades"]
        assert [item["correct"] for item in grades] == ([True, False] if name == "list" else [True]), name
        assert {item["system"] for item in grades} == {"patches" if name == "patches" else "me"}


def test_a_json_text_of_something_else_is_refused_in_one_line(toy_suite, tmp_path):
    item = {"instance_id": "toy__blend", "model_name_or_path": "me", "model_patch": ""}
    for text, words in {
        json.dumps([item, 1]): "p.json: prediction 2: not a JSON object",
        json.dumps([item, {"instance_id": "toy__blend"}], indent=1): "prediction 2: model_name_or_path: missing",
        json.dumps({"toy__other": {"model_patch": ""}}): "prediction 1: there is no task 'toy__other'",
        "[\n{": "p.json:1: not valid JSON",
    }.items():
        (tmp_path / "p.json").write_text(text)

        result = run("grade", "p.json", "--suite", toy_suite, cwd=tmp_path)

        assert (result.returncode, result.stderr.count("\n")) == (2, 1), result.stderr
        assert words in result.stderr


def test_the_table_says_why_a_patch_does_not_apply(toy_suite, tmp_path):
    run("export", "toy", "--to", "work", "--suite", toy_suite, cwd=tmp_path)
    right = patch(tmp_path / "work" / "toy" / "blend", RIGHT)
    stale = right.replace("-        raise", "-        pass")
    predictions = [{"model_patch": stale}, {"model_patch": None, "model_name_or_path": "silent"}]
    file = write(tmp_path / "predictions.jsonl", *predictions)

    result = run(
        "grade", file, "--suite", toy_suite, "--out", "run", cwd=tmp_path, env={**os.environ, "COLUMNS": "300"}
    )

    table = result.stdout.partition("Answers that fail")[2]
    assert re.search(r"missing: the patch: blending\.py: the hunk at line \d+ does not apply: its old lines \(", table)
    assert "missing: the patch: it is empty" in table
    assert "does not define" not in result.stdout
