"""Reading a submission is bounded, cannot end the harness, and does not affect other submissions."""

import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from tests.graded import graded

from lmrbench import cli
from lmrbench.errors import RecordError, SandboxError, SubmissionError
from lmrbench.grading import reader, reading
from lmrbench.grading.reader import MEGABYTES, WALL_SECONDS
from lmrbench.jsonl import MAX_LINE_BYTES, append_line, read_submitted_lines
from lmrbench.judging.documents import document
from lmrbench.tasks.loading import load_suite
from lmrbench.tasks.submission import MAX_CODE_BYTES, Submission
from lmrbench.tasks.workspace import export_workspace, masked_files
from lmrbench.web.answers import compare_answers, compare_with_repository

RIGHT = """
def blend(self, values):
    factors = weights(len(values))
    total = sum(factors)
    return self.scale * sum(map(lambda w, v: w * v / total, factors, values)) if values else 0.0
"""
BRANCHES = "if 0:\n    x = 0\n" + "".join(f"elif {number} == 0:\n    x = {number}\n" for number in range(1, 980))


def nested(code, times):
    for _ in range(times):
        code = f"[a for a in {code}]"
    return code


# Beside or inside of a right function, which must be found and graded all the same.
HARMLESS = {
    "a comprehension in 24 others, in the body": RIGHT.replace("len(values)", f"len({nested('values', 24)})"),
    "600 decorators amid prose": "The answer:\n" + "@torch.no_grad()\n" * 600 + "and that is:\n\n```\n" + RIGHT + "```",
    "500,000 backticks": f"{RIGHT}{'`' * 500_000}",
    "a long hexadecimal number": f"x = 0x{'f' * 3600}\n{RIGHT}",
    "a long hexadecimal number under an if": f"if 0x{'f' * 3600}:\n    x = 1\n{RIGHT}",
    "a longer hexadecimal number": f"x = 0x{'f' * 5000}\n{RIGHT}",
    "a longer hexadecimal number under an if": f"class Helper:\n    if 0x{'f' * 5000}:\n        x = 1\n{RIGHT}",
    "a sum of 900 terms under an if": f"class Helper:\n    if {'+'.join(['a'] * 900)}:\n        x = 1\n{RIGHT}",
    "800 attributes under an if": f"class Helper:\n    if {'.'.join(['a'] * 800)}:\n        x = 1\n{RIGHT}",
    "800 attributes in the body": RIGHT.replace("    total", f"    if 0:\n        {'.'.join('a' * 800)}\n    total", 1),
    "980 branches": BRANCHES + RIGHT,
    "980 branches in the body": RIGHT.replace("    total", f"{textwrap.indent(BRANCHES, '    ')}    total", 1),
    "a sum of 2,000 terms": f"x = {' + '.join(['y'] * 2000)}\n{RIGHT}",
    "50,000 import lines that are none": "import a b\n" * 50_000 + f"```\n{RIGHT}```\n",
    "30,000 constants": "\n".join(f"x{number} = {number}" for number in range(30_000)) + RIGHT,
}
# What can't be used, or not within the bounds.
REFUSED: dict[str, str | dict[str, str]] = {
    "600 decorators of nothing": "@torch.no_grad()\n" * 600,
    "more than the largest code": RIGHT + "#" * MAX_CODE_BYTES,
    "more than the largest code in files that are not asked for": {"blending.py": RIGHT, "a": "#" * MAX_CODE_BYTES},
}
# Passed or refused, as far as the bounds reach.
EITHER = {
    "20,000 functions of the name": "def blend(self, values):\n    pass\n" * 20_000,
    "20,000 methods of the name": "class Blender:\n" + "    def blend(self, values): pass\n" * 20_000,
    "a dotted import of 40,000 names": f"import {'.'.join('a' * 40_000)} as X\n{RIGHT}",
    "a dotted import of 400,000 names": f"import {'.'.join('a' * 400_000)} as X\n{RIGHT}",
    "200,000 statements in one line": f"{'é;' * 200_000}\n{RIGHT}",
    "a number of a million digits": f"x = 0x{'f' * 900_000}\n{RIGHT}",
}


@pytest.fixture(autouse=True)
def unmeasured(request):
    if request.config.pluginmanager.hasplugin("_cov"):
        pytest.skip("NOT TESTED: reading takes longer than its bound while coverage is measured")


@pytest.fixture(scope="module")
def task(toy_suite):
    return load_suite(toy_suite)[0]


@pytest.fixture
def bounded():
    """End a test that hangs, and fail one whose process grew by more than reading may take."""

    def give_up(*_):
        raise TimeoutError("it does not end")

    handler = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(3 * WALL_SECONDS)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, handler)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < MEGABYTES


def grades_of(task, pool, code):
    """The grade of a hand-in, and that of a right one of the same run."""
    codes = {"hostile": code, "innocent": RIGHT}
    submissions = [Submission(system=system, task=task.id, code=given) for system, given in codes.items()]
    grades = {item.system: item for item in graded(submissions, {task.id: task}, (0,), pool)}
    assert grades["innocent"].correct
    return grades["hostile"]


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_hard_to_read_is_graded_and_ends_nothing(task, pool, bounded, name):
    result = grades_of(task, pool, HARMLESS[name])
    assert result.correct, result.first_failure


@pytest.mark.parametrize("name", [*HARMLESS, *REFUSED])
def test_what_is_hard_to_read_is_shown_and_ends_nothing(task, bounded, name):
    submission = Submission(system="hostile", task=task.id, code=HARMLESS.get(name) or REFUSED[name])

    assert (
        "No code can be extracted" in document("item", task, submission)
        or compare_with_repository(task, submission, True).targets
    )
    compare_answers(task, submission, None)
    reading.read_in_one_layout({"blending.py": submission.code.encode() if isinstance(submission.code, str) else b""})


@pytest.mark.parametrize("name", REFUSED)
def test_what_can_not_be_read_fails_alone_and_with_a_reason(task, pool, bounded, name):
    result = grades_of(task, pool, REFUSED[name])
    assert {case.verdict for case in result.cases} == {"missing"}
    assert 10 < len(result.first_failure.reason.splitlines()[0]) < 400
    assert len(result.first_failure.reason.splitlines()) == 1


@pytest.mark.parametrize("name", EITHER)
def test_what_may_be_too_much_to_read_is_graded_or_refused_with_a_reason(task, pool, bounded, name):
    result = grades_of(task, pool, EITHER[name])

    # A body that is `pass` is read, too, and is wrong.
    read = {"match"} if RIGHT in EITHER[name] else {"mismatch"}
    assert {case.verdict for case in result.cases} in (read, {"missing"})
    assert result.correct or len(result.first_failure.reason.splitlines()) == 1


def readers():
    """The processes that read for this one: each one's parent and its memory in kB."""
    found = {}
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, KeyError, IndexError):
            if b"lmrbench.grading.reader" in (folder / "cmdline").read_bytes():
                facts = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
                found[int(facts["Pid"])] = int(facts["PPid"]), int(facts["VmHWM"].split()[0])
    own = {pid for pid, (parent, _) in found.items() if parent == os.getpid()}
    return {pid: facts for pid, facts in found.items() if pid in own or facts[0] in own}


def test_no_reader_holds_more_memory_than_it_may(task):
    most, done = 0, threading.Event()

    def watch():
        nonlocal most
        while not done.wait(0.01):
            most = max([most, *(memory for _, memory in readers().values())])

    watcher = threading.Thread(target=watch)
    watcher.start()
    with contextlib.suppress(SubmissionError):
        read(task, f"x = {'[[1],' * 150_000}")
    with contextlib.suppress(SubmissionError):
        read(task, EITHER["a dotted import of 400,000 names"])
    done.set()
    watcher.join()
    assert 0 < most / 1024 < MEGABYTES


def spin(_):
    while True:
        pass


# From Python 3.12 on, because pytest-xdist has threads.
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize(
    ("bound", "work", "killed_by"),
    [("WALL_SECONDS", lambda _: time.sleep(100), signal.SIGALRM), ("SECONDS", spin, signal.SIGKILL)],
)
def test_a_reader_that_takes_too_long_is_killed(monkeypatch, bound, work, killed_by):
    monkeypatch.setattr(reader, bound, 1)
    monkeypatch.setattr(reader, "answer", work)
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        try:
            reader._serve(theirs)
        finally:
            os._exit(0)
    theirs.close()
    with ours:
        ours.settimeout(60)
        assert ours.recv(1) == reader.STARTED
        ours.sendall(reader.Request().model_dump_json().encode())
        ours.shutdown(socket.SHUT_WR)
        assert ours.recv(1) == b""
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == killed_by


def read(task, code):
    return reading.read_submission(task, Submission(system="me", task=task.id, code=code))


def test_one_process_reads_for_all_and_is_started_again_where_it_was_killed(task):
    def started():
        return [pid for pid, (parent, _) in readers().items() if parent == os.getpid()]

    read(task, RIGHT)
    (reader,) = started()
    read(task, RIGHT)
    assert started() == [reader]
    os.kill(reader, signal.SIGKILL)
    files, _ = read(task, RIGHT)
    assert b"total = sum(factors)" in files["blending.py"]
    assert reader not in readers()


def test_many_are_read_side_by_side_and_none_gets_the_answer_of_another(task):
    results = {}

    def one(number):
        results[number] = read(task, RIGHT.replace("total", f"total_{number}"))[0]["blending.py"]

    threads = [threading.Thread(target=one, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(f"total_{number} = sum(factors)".encode() in data for number, data in results.items())
    assert len(results) == 12


def test_a_machine_that_can_not_start_a_reader_is_nobodys_failed_grade(task, monkeypatch):
    monkeypatch.setattr(reading, "_reader", None)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(SandboxError, match="did not start"):
        read(task, RIGHT)


def test_a_process_that_ends_leaves_no_reader(task, toy_suite):
    program = (
        "import sys, pathlib, os; from lmrbench.tasks.loading import load_suite; from lmrbench.grading import reading\n"
        f"task = load_suite(pathlib.Path({str(toy_suite)!r}))[0]\n"
        "from lmrbench.tasks.workspace import masked_files; from lmrbench.tasks.submission import Submission\n"
        f"code = Submission(system='me', task=task.id, code={RIGHT!r})\n"
        "reading.read_submission(task, code)\n"
        "print(reading._reader._process.pid, flush=True); os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    pid = int(done.stdout)
    for _ in range(100):
        if not Path(f"/proc/{pid}/cmdline").exists() or not Path(f"/proc/{pid}/cmdline").read_bytes():
            return
        time.sleep(0.1)
    pytest.fail("the reader is still there")


def test_a_line_without_end_is_refused_without_being_read(task, tmp_path, bounded):
    file = tmp_path / "submissions.jsonl"
    append_line(file, Submission(system="innocent", task=task.id, code=RIGHT))
    assert len(read_submitted_lines(file, Submission)) == 1
    os.truncate(file, 1 << 30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(RecordError, match=r"submissions\.jsonl:2: longer than"):
        read_submitted_lines(file, Submission)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10 < 4 * MAX_LINE_BYTES


def test_a_line_of_a_response_ends_where_pythons_tokenizer_ends_it(task, pool):
    for separator in ("\x0c", "\u2028", "\x85", "\x1c"):
        commented = RIGHT.replace("    total =", f"    # a{separator}raise ValueError\n    total =")
        quoted = RIGHT.replace("    total =", f'    assert len("a{separator}b") == 3\n    total =')
        for code in (commented, quoted, f"Here:\n\n{commented}\nThat's it.", f"```\n{quoted}```"):
            assert grades_of(task, pool, code).correct, (separator, code)


def test_a_string_of_several_lines_keeps_them_where_a_method_is_put_into_its_class(task, pool):
    code = RIGHT.replace("    total =", '    assert """a\n  b""" == "a\\n  b"\n    total =')
    assert grades_of(task, pool, code).correct


def test_a_lone_surrogate_of_a_models_answer_is_no_error(task, pool):
    assert grades_of(task, pool, RIGHT.replace("    total =", "    # \ud800\n    total =")).correct
    assert grades_of(task, pool, "def blend(self, values): return '\udcff' +").first_failure.verdict == "missing"


@pytest.fixture
def workspace(task, tmp_path):
    export_workspace(task, tmp_path / "work")
    goal = tmp_path / "work" / "repo" / "blending.py"
    goal.write_text(goal.read_text().replace("raise NotImplementedError", "return 42.0"))
    return tmp_path / "work"


@pytest.fixture
def collected(toy_suite, tmp_path, monkeypatch, capsys, bounded):
    """Run `lmrbench collect`: its exit code and its lines on standard error."""

    def collect(path, *options):
        arguments = ["collect", str(path), "--suite", str(toy_suite), "--task", "toy/blend", "--system", "me", *options]
        monkeypatch.setattr(sys, "argv", ["lmrbench", *arguments, "--to", str(tmp_path / "answers.jsonl")])
        monkeypatch.setattr(signal, "signal", lambda *_: None)
        with pytest.raises(SystemExit) as ended:
            cli.main()
        monkeypatch.undo()
        return ended.value.code or 0, capsys.readouterr().err.splitlines()

    return collect


def replaced_by_link(workspace, tmp_path):
    (workspace / "repo").rename(tmp_path / "elsewhere")
    (workspace / "repo").symlink_to(tmp_path / "elsewhere")


def replaced_by_fifo(workspace, tmp_path):
    (workspace / "repo" / "blending.py").unlink()
    os.mkfifo(workspace / "repo" / "blending.py")


def replaced_by_folder(workspace, tmp_path):
    (workspace / "repo" / "blending.py").unlink()
    (workspace / "repo" / "blending.py").mkdir()


def huge(workspace, tmp_path):
    os.truncate(workspace / "repo" / "blending.py", 1 << 40)


def surrogates(workspace, tmp_path):
    (workspace / "repo" / "blending.py").write_bytes(b"# coding: raw_unicode_escape\nx = '\\ud800'\n")


def slow_codec(workspace, tmp_path):
    (workspace / "repo" / "blending.py").write_bytes(b"# coding: punycode\n" + b"a" * 500_000 + b"-" + b"9b" * 200_000)


def forged(workspace, tmp_path):
    (workspace / "repo" / "blending.py").write_bytes(b"# coding: x\x1b[2Jy\n")


@pytest.mark.parametrize(
    "spoil", [replaced_by_link, replaced_by_fifo, replaced_by_folder, huge, surrogates, slow_codec, forged]
)
def test_a_workspace_that_can_not_be_read_is_one_line(workspace, tmp_path, collected, spoil):
    spoil(workspace, tmp_path)
    code, (line,) = collected(workspace)
    assert code == 2
    assert line.startswith("lmrbench: ")
    assert line.isprintable()
    assert not (tmp_path / "answers.jsonl").exists()


def test_links_in_the_middle_of_a_path_are_not_followed(workspace, tmp_path, task):
    replaced_by_link(workspace, tmp_path)
    with pytest.raises(SubmissionError, match="links are not followed"):
        reading.collect_workspace(task, workspace, "me")


def test_what_else_lies_in_a_workspace_is_named_and_no_more(workspace, tmp_path, collected):
    repo = workspace / "repo"
    Path(os.fsdecode(os.fsencode(repo) + b"/\xff.py")).write_text("")
    (repo / "a\nlmrbench: toy of me appended\x1b[2J.py").write_text("")
    os.mkfifo(repo / "pipe")
    (repo / "sparse.py").touch()
    os.truncate(repo / "sparse.py", 1 << 40)
    os.truncate(repo / "weighting.py", 1 << 40)
    below = os.open(repo, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("d", dir_fd=below)
        below, above = os.open("d", os.O_RDONLY, dir_fd=below), below
        os.close(above)
    os.close(below)
    code, lines = collected(workspace)
    subprocess.run(["rm", "-rf", repo / "d"], check=True)
    assert code == 0, lines
    assert all(line.isprintable() and line.startswith("lmrbench: repo/") for line in lines)
    for words in (
        "\\udcff.py: added; left out",
        "a\\nlmrbench: toy of me appended\\x1b[2J.py: added; left out",
        "pipe: neither a file nor a folder; left out",
        "sparse.py: added; left out",
        "weighting.py: changed; left out",
        "/d: nested too deeply; not read",
    ):
        assert [line for line in lines if line.endswith(words)], (words, lines)
    assert len(lines) == 6


def test_a_workspace_of_more_files_than_are_looked_at_is_collected(workspace, task, monkeypatch):
    monkeypatch.setattr("lmrbench.tasks.foreign.MAX_ENTRIES", 10)
    for number in range(20):
        (workspace / "repo" / f"file{number}.txt").touch()
    submission = reading.collect_workspace(task, workspace, "me")
    assert any("the rest was not read" in warning for warning in submission.warnings)
    assert not any("removed" in warning for warning in submission.warnings)


def test_an_unedited_workspace_is_said_to_be_so(workspace, task, tmp_path):
    export_workspace(task, tmp_path / "unedited")
    submission = reading.collect_workspace(task, tmp_path / "unedited", "me")
    assert submission.warnings == ("repo/blending.py: unchanged",)
    assert reading.collect_workspace(task, workspace, "me").warnings == ()


DIFF = """--- a/repo/blending.py
+++ b/repo/blending.py
@@ -13,2 +13,2 @@ class Blender:
         \"\"\"Return the scaled, weighted mean of the values.\"\"\"
-        raise NotImplementedError
+        return 42.0
"""


@pytest.mark.parametrize("diff", [DIFF, DIFF.replace("\n", "\r\n"), DIFF.replace("repo/", "")])
def test_a_diff_applies_with_any_line_ends(task, diff):
    submission = reading.collect_diff(task, diff.encode(), "me")
    assert submission.code["blending.py"] == masked_files(task)["blending.py"].decode().replace(
        "raise NotImplementedError", "return 42.0"
    )
    assert submission.warnings == ()


def test_a_diff_keeps_a_form_feed_and_what_else_ends_no_line(task):
    submission = reading.collect_diff(task, DIFF.replace("42.0", "42.0  # \x0c\u2028\x1c").encode(), "me")
    assert "return 42.0  # \x0c\u2028\x1c\n" in submission.code["blending.py"]


def test_a_diff_without_context_goes_behind_the_line_that_it_names(task):
    diff = "--- a/blending.py\n+++ b/blending.py\n@@ -1,0 +2 @@\n+# added\n"
    submission = reading.collect_diff(task, diff.encode(), "me")
    assert submission.code["blending.py"].split("\n")[:2] == ['"""Blends values into one."""', "# added"]


def test_a_diff_of_20000_hunks_applies(tmp_path, collected):
    (tmp_path / "my.diff").write_text(DIFF + "@@ -14,0 +14 @@\n+# added\n" * 20_000)
    assert collected(tmp_path / "my.diff") == (0, [])


@pytest.mark.parametrize(
    ("diff", "words"),
    [
        ("", "changes no goal file"),
        ("nothing\nof a diff\n", "changes no goal file"),
        (DIFF.replace("blending", "weighting"), "changes no goal file"),
        (DIFF.replace("-13,2", f"-{'1' * 5000},2"), "can't be parsed"),
        (DIFF.replace("@@ -13,2 +13,2 @@ class Blender:", "@@ -13,9 +13,9 @@\x1b[2J\rx"), "can't be parsed"),
        ("@@ -1 +1 @@\n-\x1b[2J\n+\n", "can't be parsed"),
        (DIFF + "@@ -1,1 +1,1 @@\n-x\n+y\n" * 20_000, "does not apply"),
        (DIFF + "#" * MAX_CODE_BYTES, "larger than"),
    ],
)
def test_a_diff_that_can_not_be_used_is_one_line(tmp_path, collected, diff, words):
    (tmp_path / "my.diff").write_bytes(diff.encode())
    code, (line,) = collected(tmp_path / "my.diff")
    assert (code, words in line, line.isprintable()) == (2, True, True), line


def test_paths_of_a_diff_are_escaped(tmp_path, collected):
    (tmp_path / "my.diff").write_text(DIFF + "--- a/x\x1b[2J\n+++ b/x\x1b[2J\n@@ -0,0 +1 @@\n+x\n")
    code, (line,) = collected(tmp_path / "my.diff")
    assert code == 0
    assert line == "lmrbench: x\\x1b[2J: changed, but not a goal file; left out"


def test_a_file_that_is_a_fifo_or_without_end_is_one_line(tmp_path, collected):
    os.mkfifo(tmp_path / "answer.py")
    assert collected(tmp_path / "answer.py") == (2, ["lmrbench: answer.py: not a regular file"])
    (tmp_path / "long.py").touch()
    os.truncate(tmp_path / "long.py", 1 << 40)
    assert collected(tmp_path / "long.py") == (2, [f"lmrbench: long.py: larger than {MAX_CODE_BYTES} bytes"])
    assert collected(tmp_path / "absent.py")[0] == 2
