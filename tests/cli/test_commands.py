"""The command line as its user meets it: tables and JSON, one-line errors, exit codes, and a kill at any moment."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest
from tests import toy
from tests.running import Running
from tests.running import lmrbench as run


def test_the_suite_is_counted_measured_and_drawn(toy_suite, tmp_path):
    shown = run("list", "--summary").stdout
    assert "Training objectives" in shown
    assert "published benchmark" in shown
    facts = json.loads(
        run("list", "--summary", "--suite", toy_suite, "--json", "--figure", tmp_path / "suite.svg").stdout
    )
    assert facts["digest"] in run("list", "--suite", toy_suite).stdout
    assert facts["tasks"]["toy/blend"]["masked_lines"] == 4
    assert [item["tasks"] for item in facts["categories"]] == [1]
    assert (tmp_path / "suite.svg").read_text().lstrip().startswith("<?xml")
    refused = run("list", "--summary", "--suite", toy_suite, "--figure", tmp_path / "suite.xyz")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)


@pytest.mark.sandbox
def test_a_suite_of_several_tiers_has_the_digest_that_its_runs_have(suite, tmp_path):
    without = json.loads(run("list", "--summary", "--json", "--suite", suite).stdout)["digest"]
    with (suite / "toy" / "task.toml").open("a") as file:
        file.write(toy.METHOD)
    digest = json.loads(run("list", "--summary", "--json", "--suite", suite).stdout)["digest"]
    assert digest != without
    assert digest in run("list", "--summary", "--suite", suite).stdout.splitlines()[-1]
    result = run("grade", "--mask", "-t", "toy/blend", "--suite", suite, "--out", tmp_path / "run")
    assert json.loads((tmp_path / "run" / "run.json").read_text())["suite_digest"] == digest, result.stderr


def test_list_and_show_print_tables_and_json(toy_suite):
    assert "toy/blend" in run("list", "--suite", toy_suite).stdout
    (task,) = json.loads(run("list", "--suite", toy_suite, "--json").stdout)
    assert (task["id"], task["targets"]) == ("toy/blend", ["blending.py::Blender.blend"])
    shown = run("show", "toy/blend", "--suite", toy_suite).stdout
    assert "NotImplementedError" in shown
    assert "factors" not in shown
    assert json.loads(run("show", "toy", "--suite", toy_suite, "--json").stdout)["wrong"] == 2


@pytest.mark.sandbox
def test_the_whole_way_from_export_to_a_grade(toy_suite, tmp_path):
    exported = run("export", "toy", "--suite", toy_suite, "--to", "work", cwd=tmp_path)
    assert exported.returncode == 0, exported.stderr
    workspace = tmp_path / "work" / "toy" / "blend"
    file = workspace / "repo" / "blending.py"
    assert "NotImplementedError" in file.read_text()
    body = "factors = weights(len(values))\n        dot = sum(map(float.__mul__, factors, values))\n"
    body += "        return self.scale * dot / max(sum(factors), 1.0)"
    file.write_text(file.read_text().replace("raise NotImplementedError", body))
    arguments = ("--suite", toy_suite)
    collected = run("collect", workspace, "--system", "me", "--to", "answers.jsonl", *arguments, cwd=tmp_path)
    assert collected.returncode == 0, collected.stderr
    graded = run("grade", "answers.jsonl", "--json", *arguments, cwd=tmp_path)
    assert graded.returncode == 0, graded.stderr
    (grade,) = json.loads(graded.stdout)["grades"]
    assert grade["correct"], grade
    assert (tmp_path / "runs" / "answers" / "grades.jsonl").exists()


@pytest.mark.sandbox
def test_built_in_systems_reach_what_they_must(toy_suite, tmp_path):
    result = run("grade", "--golden", "--mask", "--rewrites", "--wrong", "--suite", toy_suite, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert [word for word in result.stdout.split() if "%" in word] == ["100.0%", "0.0%", "100.0%", "0.0%"] * 4


@pytest.mark.sandbox
def test_a_wrong_version_that_passes_is_said_aloud(suite, toy_suite, tmp_path):
    right = (toy_suite / "toy" / "rewrites" / "blend" / "loop.py").read_text()
    (suite / "toy" / "wrong" / "blend" / "unscaled.py").write_text(right)
    result = run("grade", "--wrong", "--suite", suite, cwd=tmp_path)
    assert result.returncode == 1
    assert "toy/blend: wrong unscaled: correct and robust; expected not correct" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["grade"], "name a file of submissions"),
        (["grade", "absent.jsonl"], "absent.jsonl: No such file"),
        (["grade", "bad.jsonl"], "bad.jsonl:2: task: missing"),
        (["grade", "unknown.jsonl"], "submission 1: the suite has no task 'toy/other'"),
        (["grade", "twice.jsonl"], "submission 2: sample 0 of toy/blend by me is in the file twice"),
        (["grade", "--golden", "--task", "nothing"], "no task is named 'nothing'"),
        (["grade", "--golden", "--seed", "1", "--seeds", "2"], "--seed and --seeds"),
        (["show", "toy/none"], "no task is named 'toy/none'"),
        (["show", "toy/blnd"], "did you mean toy/blend?"),
        (["export", "toy", "--to", "full"], "full"),
    ],
)
def test_an_error_is_one_line_that_names_what_is_wrong(toy_suite, tmp_path, arguments, words):
    line = json.dumps({"system": "me", "task": "toy/blend", "code": "x"})
    (tmp_path / "bad.jsonl").write_text(f'{line}\n{{"system": "me"}}\n')
    (tmp_path / "unknown.jsonl").write_text(line.replace("toy/blend", "toy/other"))
    (tmp_path / "twice.jsonl").write_text(f"{line}\n{line}\n")
    (tmp_path / "full" / "toy" / "blend").mkdir(parents=True)
    (tmp_path / "full" / "toy" / "blend" / "mine.txt").write_text("mine")
    result = run(*arguments, "--suite", toy_suite, cwd=tmp_path)
    assert result.returncode == 2
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert "Traceback" not in result.stderr


def test_an_unknown_suite_and_an_unknown_sandbox_are_named(toy_suite, tmp_path):
    assert run("list", "--suite", tmp_path / "none").returncode == 2
    result = run("grade", "--golden", "--suite", toy_suite, "--sandbox", "chroot", cwd=tmp_path)
    assert (result.returncode, "'chroot'" in result.stderr) == (3, True)


SUBMISSIONS = 32


def _submissions(path):
    codes = [
        "def blend(self, values):\n    import time\n    time.sleep(0.15)\n"
        "    dot = sum(map(float.__mul__, weights(len(values)), values))\n"
        "    return self.scale * dot / max(1, sum(weights(len(values))))",
        "def blend(self, values):\n    import time\n    time.sleep(0.15)\n    return 0.0",
        "no function at all",
        "def blend(self, values):\n    import os\n    os._exit(1)",
    ]
    lines = [
        json.dumps({"system": f"s{n % 2}", "task": "toy/blend", "sample": n, "code": codes[n % len(codes)]})
        for n in range(SUBMISSIONS)
    ]
    path.write_text("\n".join(lines) + "\n")


def _verdicts(folder):
    lines = [json.loads(line) for line in (folder / "grades.jsonl").read_text().splitlines()]
    keys = ("system", "task", "sample", "correct", "candidate_digest", "seeds")
    return sorted(
        [[line[key] for key in keys] + [[case["verdict"] for case in line["cases"]]] for line in lines], key=str
    )


@pytest.mark.sandbox
def test_killed_at_ten_random_moments_a_run_loses_and_repeats_nothing(toy_suite, tmp_path):
    _submissions(tmp_path / "answers.jsonl")
    arguments = ["grade", "answers.jsonl", "--suite", str(toy_suite), "--seed", "3", "--out"]
    undisturbed = run(*arguments, "undisturbed", cwd=tmp_path)
    assert undisturbed.returncode == 0, undisturbed.stderr
    generator = random.Random(0)
    killed = 0
    for _ in range(10):
        process = Running([*arguments, "disturbed"], cwd=tmp_path)
        time.sleep(generator.uniform(0.2, 1.0))
        process.send_signal(signal.SIGKILL)
        killed += process.wait().returncode == -signal.SIGKILL
    assert killed >= 7
    last = run(*arguments, "disturbed", cwd=tmp_path)
    assert last.returncode == 0, last.stderr
    assert _verdicts(tmp_path / "disturbed") == _verdicts(tmp_path / "undisturbed")


@pytest.mark.sandbox
def test_ctrl_c_stops_cleanly_and_leaves_no_process(toy_suite, tmp_path):
    code = "def blend(self, values):\n    import time\n    time.sleep(30)\n"
    line = json.dumps({"system": "me", "task": "toy/blend", "code": code})
    (tmp_path / "slow.jsonl").write_text(line)
    process = Running(["grade", "slow.jsonl", "--suite", toy_suite], cwd=tmp_path)
    # Workers are started after this file is written.
    deadline = time.monotonic() + 60
    while not (tmp_path / "runs" / "slow" / "run.json").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    ended = process.wait(60)
    assert ended.returncode == 130
    assert "lmrbench: interrupted" in ended.stderr
    assert "Traceback" not in ended.stderr


SNOWMAN = "snow\u2603man\xe9"


@pytest.fixture(scope="module")
def graded(toy_suite, tmp_path_factory):
    """A folder with the answers of a system whose name is not ASCII, and their grades in `runs/answers`."""
    folder = tmp_path_factory.mktemp("graded")
    code = "def blend(self, values):\n    raise ValueError('\u2603')\n"
    (folder / "answers.jsonl").write_text(json.dumps({"system": SNOWMAN, "task": "toy/blend", "code": code}) + "\n")
    assert run("grade", "answers.jsonl", "--suite", toy_suite, "--seed", 0, cwd=folder).returncode == 0
    return folder


@pytest.mark.parametrize("command", ["grade", "report", "why", "report --json", "report --markdown", "--help"])
def test_a_terminal_that_lacks_a_character_shows_it_escaped(toy_suite, graded, tmp_path, command):
    grade = ["grade", graded / "answers.jsonl", "--suite", toy_suite, "--seed", 0, "--out", tmp_path / "run"]
    arguments = grade if command == "grade" else command.split()
    if command not in ("grade", "--help"):
        arguments.append(graded / "runs" / "answers")
    result = subprocess.run(
        [sys.executable, "-m", "lmrbench", *map(str, arguments)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "ascii:strict", "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.isascii()
    if command == "report --json":
        assert SNOWMAN in json.loads(result.stdout)["rates"]["all"]
    elif command != "--help":
        assert "snow\\u2603man\\xe9" in result.stdout
