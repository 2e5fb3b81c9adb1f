"""Whatever is handed in becomes code to run or one of our errors, within bounds, and the next one is read right."""

import os
import resource
import shutil
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.fuzz.generated import COOKIES, GOAL, GOLDEN, GROWING, TASK, TASKS, code, diffs, edited, growing

from lmrbench.errors import RecordError, SubmissionError
from lmrbench.grading.reading import collect_diff, collect_text, collect_workspace, read_submission
from lmrbench.runs.folder import read_submissions
from lmrbench.source.functions import find, mask
from lmrbench.source.transplant import transplant
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.workspace import export_workspace, unsolved_files

UNSOLVED = unsolved_files(TASK)
# What reading may cost the harness itself, in seconds of its processor: the work is done elsewhere, under bounds.
SECONDS, SECONDS_A_BYTE = 0.5, 2e-6
MOST_KILOBYTES = 200_000


def read(text):
    submission = Submission(system="fuzz", task=TASK.id, code={GOAL: text})
    return read_submission(TASK, submission)


def outcome(kind, do, *arguments):
    """What comes of it, or None and what the error of this kind says; every other error is a failure."""
    try:
        return do(*arguments), ""
    except kind as error:
        return None, str(error)


def test_an_innocent_submission_is_read_after_the_worst():
    for name in GROWING:
        outcome(SubmissionError, read, GROWING[name](2000))
        files, warnings = read(GOLDEN)
        assert files[GOAL] == GOLDEN.encode(), name
        assert warnings == ()


@given(code)
@example(GROWING["nested comprehensions"](24))
@example(GROWING["a hexadecimal literal"](900))
@example(GROWING["elif"](980))
@example(GROWING["decorators"](600))
@example(GROWING["backticks"](5000))
@example(GROWING["functions of the target's name"](2000))
@example(GROWING["a dotted import"](4000))
@example(COOKIES[1] + GOLDEN)
@example(COOKIES[2] + GOLDEN)
@example(GOLDEN.replace("losses = ", "\f losses = ", 1))
def test_any_code_is_code_to_run_or_a_refusal(text):
    began, held = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found, refusal = outcome(SubmissionError, read, text)
    assert refusal.isprintable()
    if found:
        files, warnings = found
        assert files.keys() == UNSOLVED.keys()
        assert all(files[name] == UNSOLVED[name] for name in files if name != GOAL)
        assert all(warning.isprintable() for warning in warnings)
    assert time.process_time() - began < SECONDS + SECONDS_A_BYTE * len(text)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held < MOST_KILOBYTES


@given(st.one_of(diffs(), growing, st.text(max_size=200)))
@example("")
@example(f"--- a/{GOAL}\n+++ b/{GOAL}\n@@ -{'9' * 5000},1 +1,1 @@\n-x\n+y\n")
@example(f"--- a/{GOAL}\n+++ b/{GOAL}\n" + "@@ -1,1 +1,1 @@\n-x\n+y\n" * 20_000)
def test_any_diff_is_code_or_a_refusal(text):
    found, refusal = outcome(SubmissionError, collect_diff, TASK, text.encode("utf-8", "surrogatepass"), "fuzz")
    assert refusal.isprintable()
    assert found is None or found.code.keys() == {GOAL}


@given(st.one_of(st.binary(max_size=300), code.map(lambda text: text.encode("utf-8", "surrogatepass"))))
@example(b"# coding: raw_unicode_escape\nx = '\\ud800'\n")
def test_any_file_is_text_or_a_refusal(data):
    _, refusal = outcome(SubmissionError, collect_text, TASK, data, "answer.py", "fuzz")
    assert refusal.isprintable()


NAMES = st.sampled_from(
    (f"repo/{GOAL}", "repo", "repo/new.py", "paper.md", "answer.py", "repo/\udcff.py", "repo/[/]\x1b.py")
)
CHANGES = st.sampled_from(
    ("link to the suite", "link to itself", "pipe", "folder", "sparse", "bytes", "gone", "deep", "shut")
)


@given(st.lists(st.tuples(NAMES, CHANGES), max_size=4), edited())
@example([("repo", "link to the suite")], GOLDEN)
@example([(f"repo/{GOAL}", "link to the suite")], GOLDEN)
@example([("repo/\udcff.py", "bytes")], GOLDEN)
@example([("repo", "deep")], GOLDEN)
def test_any_workspace_is_code_or_a_refusal_and_nothing_is_read_from_elsewhere(tmp_path_factory, changes, text):
    folder = tmp_path_factory.mktemp("fuzz") / "workspace"
    export_workspace(TASK, folder)
    (folder / "repo" / GOAL).write_bytes(text.encode("utf-8", "surrogatepass"))
    for name, change in changes:
        spoil(folder, os.fsencode(folder) + b"/" + os.fsencode(name), change)
    found, refusal = outcome(SubmissionError, collect_workspace, TASK, folder, "fuzz")
    shutil.rmtree(folder, ignore_errors=True)
    assert refusal.isprintable()
    if found:
        assert found.code[GOAL] != GOLDEN or text == GOLDEN
        assert all(warning.isprintable() for warning in found.warnings)


def spoil(folder, path, change):
    """Put something else where a file or a folder of the workspace was."""
    try:
        if os.path.isdir(path) and not os.path.islink(path) and change != "deep":
            shutil.rmtree(path)
        elif os.path.lexists(path) and change != "deep":
            os.unlink(path)
        if change == "link to the suite":
            name = os.path.relpath(path, os.fsencode(folder / "repo"))
            os.symlink(os.fsencode(TASK.folder / "repo" / os.fsdecode(name)), path)
        elif change == "link to itself":
            os.symlink(os.path.basename(path), path)
        elif change == "pipe":
            os.mkfifo(path)
        elif change in ("folder", "shut"):
            os.mkdir(path, 0o777 if change == "folder" else 0)
        elif change == "sparse":
            with open(path, "wb") as file:
                file.truncate(1 << 34)
        elif change == "bytes":
            with open(path, "wb") as file:
                file.write(b"\xff\xfe\x00")
        elif change == "deep" and os.path.isdir(path):
            descend(path)
    except OSError:
        pass


def descend(path):
    """Folders in folders, more than a path may have."""
    here = os.open(path, os.O_DIRECTORY)
    for _ in range(1200):
        try:
            os.mkdir("d" * 20, dir_fd=here)
        except OSError:
            break
        below = os.open("d" * 20, os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


LINE = '{"system": "s", "task": "dpo/preference_loss", "code": "x"}'


@given(
    st.lists(
        st.one_of(st.binary(max_size=200), edited(LINE).map(lambda text: text.encode("utf-8", "replace"))), max_size=4
    )
)
@example([b"[" * 100_000])
@example([b'{"system": ' + b"9" * 100_000 + b"}"])
@example([b"\xef\xbb\xbf" + LINE.encode()])
def test_any_file_of_submissions_is_read_or_named(tmp_path_factory, lines):
    file = tmp_path_factory.mktemp("fuzz") / "submissions.jsonl"
    file.write_bytes(b"\n".join(lines))
    found, refusal = outcome(RecordError, read_submissions, file)
    assert found is not None or str(file) in refusal


BODIES = st.lists(
    st.sampled_from(
        ("x = 1", "return a", "for i in a:\n    pass", "'''text\nmore'''", "# only this", "if b:\n    return 2\n# end")
    ),
    min_size=1,
    max_size=4,
)


@given(st.sampled_from(sorted(TASKS)), BODIES)
def test_nothing_outside_of_the_targets_changes(name, statements):
    task = TASKS[name]
    unsolved = unsolved_files(task)
    for file in task.goal_files:
        targets = [target.qualname for target in task.targets if target.file == file]
        candidate = unsolved[file].decode()
        for target in targets:
            function = find(candidate.encode(), target)
            inside = " " * 4 * (len(function.parents) + 1)
            body = "\n".join(inside + line for statement in [*statements, "pass"] for line in statement.split("\n"))
            before = candidate[: function.end].removesuffix("raise NotImplementedError")
            candidate = before.rstrip() + "\n" + body + candidate[function.end :]
        done = transplant(unsolved[file], candidate, targets).data
        assert mask(done, targets) == unsolved[file]
        assert transplant(done, candidate, targets).data == done
        assert transplant(unsolved[file], done, targets).data == done


@pytest.mark.parametrize("name", sorted(TASKS))
def test_the_golden_comes_back_whole(name):
    task = TASKS[name]
    masked = unsolved_files(task)
    for file in task.goal_files:
        targets = [target.qualname for target in task.targets if target.file == file]
        golden = task.files.repository[file]
        assert transplant(masked[file], golden, targets).data == golden
        assert mask(golden, targets) == masked[file]
