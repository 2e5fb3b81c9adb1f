"""A diff does to the goal files what `git apply` does, and where it does nothing, the reason is said."""

import random
import subprocess

import pytest

from lmrbench.errors import SubmissionError
from lmrbench.tasks.patches import patched

GOAL = "analysis/metrics.py"
TEXT = "".join(f"line {number}\n" for number in range(1, 41)) + "def f():\n    raise NotImplementedError\n\n\nend = 1\n"
FILES = {GOAL: TEXT.encode()}
HUNK = "@@ -40,4 +40,4 @@\n line 40\n def f():\n-    raise NotImplementedError\n+    return 1\n \n"
DIFF = f"diff --git a/{GOAL} b/{GOAL}\nindex 111..222 100644\n--- a/{GOAL}\n+++ b/{GOAL}\n{HUNK}"
DONE = TEXT.replace("raise NotImplementedError", "return 1")


def moved(diff, offset):
    return diff.replace("-40,4 +40,4", f"-{40 + offset},4 +{40 + offset},4")


@pytest.mark.parametrize(
    "diff",
    [
        DIFF,
        *(moved(DIFF, offset) for offset in (5, -3, 400, -39)),
        DIFF.replace(f"a/{GOAL}", f"./{GOAL}").replace(f"b/{GOAL}", f"./{GOAL}"),
        DIFF.replace(f"a/{GOAL}", GOAL).replace(f"b/{GOAL}", GOAL),
        DIFF.replace(f"a/{GOAL}", f"a//{GOAL}").replace(f"b/{GOAL}", f"b//{GOAL}"),
        DIFF.replace(f"a/{GOAL}", f"a/./{GOAL}").replace(f"b/{GOAL}", f"b/./{GOAL}"),
        DIFF.replace(f"a/{GOAL}", f"a/repo/{GOAL}").replace(f"b/{GOAL}", f"b/repo/{GOAL}"),
        DIFF.replace(f"a/{GOAL}", f'"a/{GOAL}"').replace(f"b/{GOAL}", f'"b/{GOAL}"'),
        DIFF.replace(f"a/{GOAL}", '"a/analysis/m\\145trics.py"').replace(f"b/{GOAL}", '"b/analysis/m\\145trics.py"'),
        DIFF.replace("\n", "\r\n"),
        f"--- {GOAL}.orig\t2024-01-01 00:00:00\n+++ {GOAL}\t2024-01-01 00:00:00\n{HUNK}",
        f"--- i/{GOAL}\n+++ w/{GOAL}\n{HUNK}",
        DIFF.removesuffix("\n").rstrip() + "\n ",
        "From 1 Mon Sep 17 00:00:00 2001\nSubject: f\n\n---\n x | 2 +-\n\n" + DIFF,
    ],
)
def test_a_diff_applies_however_its_names_and_places_are_written(diff):
    code, warnings = patched(FILES, diff)
    assert code == {GOAL: DONE}
    assert warnings == ()


def test_line_ends_are_those_of_the_file():
    code, _ = patched({GOAL: TEXT.replace("\n", "\r\n").encode()}, DIFF)
    assert code == {GOAL: DONE.replace("\n", "\r\n")}


def test_a_new_file_and_a_renamed_one_may_be_a_goal_file():
    new = f"diff --git a/{GOAL} b/{GOAL}\nnew file mode 100644\n--- /dev/null\n+++ b/{GOAL}\n"
    new += "@@ -0,0 +1,2 @@\n+x = 1\n+y = 2\n"
    assert patched(FILES, new) == ({GOAL: "x = 1\ny = 2\n"}, ())
    renamed = f"diff --git a/{GOAL} b/other.py\nsimilarity index 90%\nrename from {GOAL}\nrename to other.py\n"
    renamed += f"--- a/{GOAL}\n+++ b/other.py\n{HUNK}"
    assert patched(FILES, renamed) == ({GOAL: DONE}, (f"{GOAL}: renamed to other.py; the change is applied to {GOAL}",))


def test_other_files_are_named_and_left_out():
    other = "--- a/other.py\n+++ b/other.py\n@@ -1 +1 @@\n-x\n+y\n"
    added = "diff --git a/new.py b/new.py\nnew file mode 100644\n--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x\n"
    gone = "diff --git a/old.py b/old.py\ndeleted file mode 100644\n--- a/old.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    code, warnings = patched(FILES, other + added + DIFF + gone)
    assert code == {GOAL: DONE}
    assert warnings == tuple(
        f"{name}: changed, but not a goal file; left out" for name in ("other.py", "new.py", "old.py")
    )


@pytest.mark.parametrize(
    ("diff", "words"),
    [
        (DIFF.replace(" line 40", " line forty"), r"the hunk at line 40 does not apply: its old lines \(4 in all\)"),
        (DIFF + DIFF.partition("@@")[1] + HUNK[2:], "does not apply"),
        (f"--- a/{GOAL}\n+++ /dev/null\n@@ -1 +0,0 @@\n-line 1\n", "the diff deletes this file"),
        (DIFF.replace("-40,4", "-40,9"), "the diff can't be parsed"),
        (f"Binary files a/{GOAL} and b/{GOAL} differ\n", "the diff of this file is binary"),
        ("", "changes no goal file"),
    ],
)
def test_a_diff_that_does_not_apply_says_why(diff, words):
    with pytest.raises(SubmissionError, match=words):
        patched(FILES, diff)


def git_applies(folder, text, diff):
    """The text as `git apply` leaves it; None if it refuses the diff."""
    (folder / "f.py").write_text(text)
    done = subprocess.run(["git", "apply", "-p1", "-"], cwd=folder, input=diff.encode(), capture_output=True)
    return (folder / "f.py").read_text() if done.returncode == 0 else None


def test_hunks_go_where_git_puts_them(tmp_path):
    """Files of few kinds of lines, so that hunks fit in many places, and headers that are wrong by some lines."""
    randomly = random.Random(7)
    applied = 0
    for _ in range(150):
        lines = [randomly.choice("abc") for _ in range(randomly.randrange(8, 30))]
        changed = list(lines)
        for _ in range(randomly.randrange(1, 4)):
            place = randomly.randrange(len(changed))
            changed[place : place + randomly.randrange(2)] = ["new"] * randomly.randrange(2)
        before, after = tmp_path / "before", tmp_path / "after"
        before.write_text("".join(f"{line}\n" for line in lines))
        after.write_text("".join(f"{line}\n" for line in changed))
        context = f"-U{randomly.randrange(1, 4)}"
        command = ["diff", context, "--label", "a/f.py", "--label", "b/f.py", str(before), str(after)]
        diff = subprocess.run(command, capture_output=True, text=True).stdout
        shift = randomly.randrange(-6, 7)
        shifted = "\n".join(_shifted(line, shift) if line.startswith("@@") else line for line in diff.split("\n"))
        expected = git_applies(tmp_path, before.read_text(), shifted)
        if expected is not None:
            applied += 1
            assert patched({"f.py": before.read_bytes()}, shifted)[0]["f.py"] == expected, shifted
    assert applied > 50


def _shifted(header, shift):
    words = header.split(" ")
    for number in (1, 2):
        start, comma, count = words[number][1:].partition(",")
        words[number] = f"{words[number][0]}{max(1, int(start) + shift)}{comma}{count}"
    return " ".join(words)
