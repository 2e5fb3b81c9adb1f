"""`lmrbench grade` on what others hand in: hostile names, other people's folders, files with nothing in them."""

import json
import os
import subprocess
import sys

import pytest
from tests.running import lmrbench as run
from tests.toy import RIGHT

pytestmark = pytest.mark.sandbox

HOSTILE = "[/]\x1b[2J\x9b1m\nlmrbench: me passed :smile: \u202e"


def write(file, *submissions):
    lines = [json.dumps({"system": "me", "task": "toy/blend", "code": RIGHT, **item}) for item in submissions]
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


def test_a_file_from_an_editor_that_marks_its_encoding_is_read(toy_suite, tmp_path):
    file = write(tmp_path / "answers.jsonl", {})
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    result = run("grade", "answers.jsonl", "--suite", toy_suite, "--seed", 0, "--json", cwd=tmp_path)
    assert json.loads(result.stdout)["grades"][0]["correct"]


@pytest.mark.parametrize("form", ["workspace", "file"])
def test_an_answer_in_which_nothing_was_filled_in_is_not_taken_in(toy_suite, tmp_path, form):
    run("export", "toy", "--to", "work", "--suite", toy_suite, cwd=tmp_path)
    workspace = tmp_path / "work" / "toy" / "blend"
    path = workspace if form == "workspace" else workspace / "repo" / "blending.py"
    arguments = ("--system", "me", "--task", "toy/blend", "--suite", toy_suite)
    result = run("collect", path, *arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1].endswith("nothing was filled in; nothing was written to submissions.jsonl")
    assert not (tmp_path / "submissions.jsonl").exists()


def test_collecting_again_after_an_edit_replaces_the_answer_and_a_sample_number_keeps_both(toy_suite, tmp_path):
    run("export", "toy", "--to", "work", "--suite", toy_suite, cwd=tmp_path)
    goal = tmp_path / "work" / "toy" / "blend" / "repo" / "blending.py"
    masked = goal.read_text()
    arguments = ("collect", "work/toy/blend", "--system", "me", "--suite", toy_suite)

    def codes(*more, value):
        goal.write_text(masked.replace("raise NotImplementedError", f"return {value}"))
        result = run(*arguments, *more, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        lines = (tmp_path / "submissions.jsonl").read_text().splitlines()
        return result.stdout, ["return 2" in json.loads(line)["code"]["blending.py"] for line in lines]

    assert codes(value=1) == ("toy/blend of me appended to submissions.jsonl\n", [False])
    out, found = codes(value=2)
    assert found == [True]
    assert "replaced" in out
    assert codes("--sample", 1, value=3)[1] == [True, False]
    graded = run("grade", "submissions.jsonl", "--suite", toy_suite, "--seed", 0, "--json", cwd=tmp_path)
    assert len(json.loads(graded.stdout)["grades"]) == 2, graded.stderr


def test_a_whole_export_is_taken_in_but_for_what_was_left_unedited(two_papers, tmp_path):
    run("export", "toy", "other", "--to", "work", "--suite", two_papers, cwd=tmp_path)
    nothing = run("collect", "work", "--system", "me", "--suite", two_papers, cwd=tmp_path)
    assert (nothing.returncode, nothing.stderr.splitlines()[-1]) == (
        2,
        "lmrbench: work: none of 2 workspaces was filled in; nothing was written to submissions.jsonl",
    )
    edited = tmp_path / "work" / "toy" / "blend" / "repo" / "blending.py"
    edited.write_bytes((two_papers / "toy" / "repo" / "blending.py").read_bytes())
    result = run("collect", "work", "--system", "me", "--suite", two_papers, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "work/other/blend: the masked functions are unchanged; left out" in result.stderr
    (line,) = (tmp_path / "submissions.jsonl").read_text().splitlines()
    assert json.loads(line)["task"] == "toy/blend"


def assert_plain(text):
    assert not [letter for letter in text if not letter.isprintable() and letter != "\n"]


def test_hostile_names_are_text_on_a_terminal(toy_suite, tmp_path):
    wrong = {"system": HOSTILE, "label": "", "code": f"def blend(self, values):\n    raise ValueError({HOSTILE!r})\n"}
    write(tmp_path / "answers.jsonl", wrong)

    for more in ((), ("--json",)):
        result = run("grade", "answers.jsonl", "--suite", toy_suite, "--seed", 0, *more, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert_plain(result.stdout + result.stderr)
        assert not [line for line in result.stdout.splitlines() if line.startswith("lmrbench:")]
    assert json.loads(result.stdout)["grades"][0]["system"] == HOSTILE


def test_a_hostile_file_name_forges_no_line(toy_suite, tmp_path):
    run("export", "toy", "--to", "work", "--suite", toy_suite, cwd=tmp_path)
    repo = tmp_path / "work" / "toy" / "blend" / "repo"
    (repo / "a\nlmrbench: toy passed").write_text("")
    (repo / "blending.py").write_bytes((toy_suite / "toy" / "repo" / "blending.py").read_bytes())

    result = run("collect", "work/toy/blend", "--system", "me", "--suite", toy_suite, cwd=tmp_path)

    assert result.returncode == 0
    assert "added; left out" in result.stderr
    assert not [line for line in result.stderr.splitlines() if line.startswith("lmrbench: toy passed")]


def test_a_folder_from_somebody_else_is_graded_anew_and_said_in_one_line(toy_suite, tmp_path):
    write(tmp_path / "answers.jsonl", {"code": "def blend(self, values):\n    return 0.5\n"})
    arguments = ("--suite", toy_suite, "--seed", 0)
    run("grade", "answers.jsonl", *arguments, cwd=tmp_path)
    grades = tmp_path / "runs" / "answers" / "grades.jsonl"
    grades.write_text(grades.read_text().replace('"correct":false', '"correct":true'))

    result = run("grade", "runs/answers", *arguments, "--json", cwd=tmp_path)

    assert [item["correct"] for item in json.loads(result.stdout)["grades"]] == [False]
    (line,) = result.stderr.splitlines()
    assert line.startswith("lmrbench: runs/answers: 1 grade was not made by this installation")


def test_one_task_of_a_run_folder_can_be_graded_without_losing_the_others(two_papers, tmp_path):
    write(tmp_path / "answers.jsonl", {}, {"task": "other/blend"}, {"system": "you"})
    arguments = ("--suite", two_papers, "--seed", 0)
    run("grade", "answers.jsonl", *arguments, cwd=tmp_path)

    some = run("grade", "runs/answers", "--task", "toy", *arguments, cwd=tmp_path)
    every = run("grade", "runs/answers", "--json", *arguments, cwd=tmp_path)

    assert some.returncode == every.returncode == 0, some.stderr
    found = json.loads(every.stdout)
    assert sorted(item["task"] for item in found["grades"]) == ["other/blend", "toy/blend", "toy/blend"]
    assert found["not_submitted"] == {"you": ["other/blend"]}
    assert "you: nothing submitted for 1 of 2 tasks" in run("grade", "runs/answers", *arguments, cwd=tmp_path).stdout


def test_an_answer_whose_sample_the_provider_left_unanswered_is_graded_where_it_is_there(toy_suite, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    write(folder / "submissions.jsonl", {})
    usage = {"system": "me", "task": "toy/blend", "sample": 0, "status": "provider_error", "detail": "", "calls": 1}
    usage |= {"input_tokens": 0, "output_tokens": 0, "dollars": None, "seconds": 1.0, "limit": "", "cut": ()}
    (folder / "usage.jsonl").write_text(json.dumps(usage) + "\n")

    result = run("grade", "run", "--suite", toy_suite, "--seed", 0, "--speed", "--json", cwd=tmp_path)

    assert result.returncode == 0, result.stderr
    assert [item["correct"] for item in json.loads(result.stdout)["grades"]] == [True]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("empty.jsonl",), "empty.jsonl contains no submissions"),
        (("answers.jsonl", "--task", "other/blend"), "no submission for other/blend"),
        (("answers.jsonl", "--out", "answers.jsonl"), "answers.jsonl: File exists"),
        (("answers.jsonl", "--out", "answers.jsonl/below"), "Not a directory"),
        (("linked",), "is a symbolic link"),
        (("twice.jsonl",), "sample 0 of toy/blend by me is in the file twice"),
    ],
)
def test_an_error_is_one_line_and_a_nonzero_exit(two_papers, tmp_path, arguments, words):
    write(tmp_path / "answers.jsonl", {})
    write(tmp_path / "twice.jsonl", {}, {})
    (tmp_path / "empty.jsonl").write_text("\n")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "submissions.jsonl").symlink_to(tmp_path / "answers.jsonl")

    result = run("grade", *arguments, "--suite", two_papers, cwd=tmp_path)

    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    assert words in line


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
def test_a_full_disk_is_one_line(toy_suite, tmp_path):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "lmrbench", "list", "--json", "--suite", str(toy_suite)]
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert result.returncode == 3
    assert result.stderr.splitlines() == ["lmrbench: No space left on device"]


def test_a_blind_run_draws_a_seed_that_is_not_this_machines_own(toy_suite, tmp_path):
    write(tmp_path / "answers.jsonl", {"code": "def blend(self, values):\n    return 0.5\n"})
    seeds = [
        json.loads(run("grade", "answers.jsonl", "--suite", toy_suite, "--json", *more, cwd=tmp_path).stdout)
        for more in (("--out", "open"), ("--out", "blind", "--blind"), ("--out", "blind", "--blind"))
    ]
    assert seeds[0]["seeds"] != seeds[1]["seeds"] == seeds[2]["seeds"]
    assert "expected" in (tmp_path / "open" / "grades.jsonl").read_text()
    assert "expected" not in (tmp_path / "blind" / "grades.jsonl").read_text()


def test_an_answer_can_be_put_in_an_earlier_ones_place(toy_suite, tmp_path):
    for code in ("def blend(self, values): return 1", "def blend(self, values): return 2"):
        (tmp_path / "answer.py").write_text(code)
        arguments = ("--system", "me", "--task", "toy", "--suite", toy_suite)
        assert run("collect", "answer.py", *arguments, cwd=tmp_path).returncode == 0
    (line,) = (tmp_path / "submissions.jsonl").read_text().splitlines()
    assert "return 2" in json.loads(line)["code"]


def test_a_task_that_changed_since_it_was_graded_is_named(two_papers, tmp_path):
    write(tmp_path / "answers.jsonl", {}, {"task": "other/blend"})
    arguments = ("grade", "answers.jsonl", "--suite", two_papers, "--seed", 0, "--out", "run")
    assert run(*arguments, cwd=tmp_path).returncode == 0
    check = two_papers / "toy" / "checks" / "blend.py"
    check.write_text(check.read_text() + "\n# Another version.\n")
    result = run(*arguments, cwd=tmp_path)
    assert (
        "lmrbench: run: these tasks changed after grading, so their grades are outdated: toy/blend\n" in result.stderr
    ), result.stderr
    assert "outdated" not in run(*arguments, cwd=tmp_path).stderr


def test_a_file_never_merges_into_the_run_of_another(toy_suite, tmp_path):
    for name, code in (("first", RIGHT), ("second", "def blend(self, values):\n    return 1\n")):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "answers.jsonl", {"code": code})
    arguments = ("--suite", toy_suite, "--seed", 0)

    def grade(path, *more):
        result = run("grade", path, *arguments, *more, cwd=tmp_path)
        return result.returncode, result.stderr

    assert grade("first/answers.jsonl") == (0, "")
    refused = "lmrbench: runs/answers contains answers from first/answers.jsonl, not from {}; choose another folder "
    refused += "with --out\n"
    assert grade("second/answers.jsonl") == (2, refused.format("second/answers.jsonl"))
    assert grade("second/answers.jsonl", "--out", "runs/answers") == (2, refused.format("second/answers.jsonl"))
    # Other answers are no better.
    write(tmp_path / "second" / "answers.jsonl", {"system": "you"})
    assert grade("second/answers.jsonl") == (2, refused.format("second/answers.jsonl"))
    (line,) = (tmp_path / "runs" / "answers" / "submissions.jsonl").read_text().splitlines()
    assert json.loads(line)["code"] == RIGHT

    # To a folder that is named, they are added with a word.
    merged = "lmrbench: runs/answers also contains 1 answer not found in second/answers.jsonl\n"
    assert grade("second/answers.jsonl", "--out", "runs/answers") == (0, merged)
    assert grade("second/answers.jsonl", "--out", "runs/second") == (0, "")


def test_a_file_is_graded_into_its_run_again_after_it_was_mended_moved_or_grew(toy_suite, tmp_path):
    arguments = ("--suite", toy_suite, "--seed", 0, "--json")

    def passed(path, *submissions):
        write(tmp_path / path, *submissions)
        result = run("grade", path, *arguments, cwd=tmp_path)
        assert (result.returncode, result.stderr) == (0, "")
        return [item["correct"] for item in json.loads(result.stdout)["grades"]]

    (tmp_path / "moved").mkdir()
    assert passed("answers.jsonl", {"code": "def blend(self, values):\n    return 1\n"}) == [False]
    assert passed("answers.jsonl", {}) == [True]
    assert passed("moved/answers.jsonl", {}, {"sample": 1}) == [True, True]
    write(tmp_path / "moved" / "answers.jsonl", {})
    result = run("grade", "moved/answers.jsonl", *arguments, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (
        2,
        "lmrbench: runs/answers contains 1 answer that moved/answers.jsonl no longer contains; "
        "choose another folder with --out\n",
    )


def test_a_built_in_system_never_merges_into_the_run_of_a_file(toy_suite, tmp_path):
    write(tmp_path / "golden.jsonl", {})
    arguments = ("--suite", toy_suite, "--seed", 0)
    assert run("grade", "golden.jsonl", *arguments, cwd=tmp_path).returncode == 0
    result = run("grade", "--golden", *arguments, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (
        2,
        "lmrbench: runs/golden contains answers from golden.jsonl; choose another folder with --out\n",
    )


def test_a_strangers_system_called_like_a_built_in_one_is_among_the_answers_that_fail(toy_suite, tmp_path):
    wrong = "def blend(self, values):\n    return 1\n"
    write(tmp_path / "answers.jsonl", {"system": "mask", "code": wrong}, {"label": "first", "code": wrong})
    result = run("grade", "answers.jsonl", "--suite", toy_suite, "--seed", 0, cwd=tmp_path)
    _, _, failed = result.stdout.partition("Answers that fail")
    assert [line.split()[:2] for line in failed.splitlines()[2:4]] == [["mask", "toy/blend"], ["me", "toy/blend"]]
    built_in = run("grade", "--mask", "--wrong", "--suite", toy_suite, "--seed", 0, cwd=tmp_path)
    assert "Answers that fail" not in built_in.stdout


def test_at_most_so_many_versions_of_each_task_are_graded(toy_suite, tmp_path):
    arguments = ("--rewrites", "--wrong", "--most", 1, "--suite", toy_suite, "--seed", 0)
    result = run("grade", *arguments, "--json", cwd=tmp_path)
    graded = [item["system"] for item in json.loads(result.stdout)["grades"]]
    assert {name: graded.count(name) for name in graded} == {"rewrites": 1, "wrong": 1}


def test_a_line_with_a_lone_surrogate_or_an_unknown_key_is_taken_like_the_others(toy_suite, tmp_path):
    file = write(
        tmp_path / "answers.jsonl",
        {"system": "escaped", "code": f"{RIGHT}# \ud800\n"},
        {"system": "plain"},
        {"system": "curious", "cost": 0.2, "trace": {"a": 1}},
        {"system": "\udfff named"},
    )
    raw = json.dumps({"system": "raw", "task": "toy/blend", "code": f"{RIGHT}# \ud800\n"}, ensure_ascii=False)
    file.write_bytes(file.read_bytes() + raw.encode("utf-8", "surrogatepass") + b"\n")

    result = run("grade", file, "--suite", toy_suite, "--out", "run", "--json", cwd=tmp_path)

    assert result.returncode == 0, result.stderr
    grades = {item["system"]: item for item in json.loads(result.stdout)["grades"]}
    assert {name: item["correct"] for name, item in grades.items()} == dict.fromkeys(
        ("escaped", "plain", "curious", "? named", "raw"), True
    )
    assert grades["curious"]["warnings"] == ["cost: unknown key; left out", "trace: unknown key; left out"]
    assert run("grade", "run", "--suite", toy_suite, cwd=tmp_path).returncode == 0


def test_the_table_says_why_an_answer_can_not_be_used_and_what_was_left_out_of_one_that_fails(toy_suite, tmp_path):
    file = write(
        tmp_path / "answers.jsonl",
        {"system": "declines", "code": "I'm sorry, but I can't help with that."},
        {"system": "breaks", "code": RIGHT.replace("values))\n", "values)\n", 1)},
        {"system": "renames", "code": f"def weights(count):\n    return [0] * count\n\n{RIGHT}"},
    )

    result = run(
        "grade", file, "--suite", toy_suite, "--out", "run", cwd=tmp_path, env={**os.environ, "COLUMNS": "400"}
    )

    lines = {line.split()[0]: line for line in result.stdout.partition("Answers that fail")[2].splitlines() if line}
    assert "no code in the answer: 'I'm sorry, but I can't help with that.'" in lines["declines"]
    assert "the candidate can't be parsed: line 3: '(' was never closed (Python 3." in lines["breaks"]
    assert "(warning: line 1: `weights` differs from the repository's; the answer uses its own" in lines["renames"]
