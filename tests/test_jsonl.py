"""JSON lines that survive a kill, and damage that is named."""

import errno
import fcntl
import os
import subprocess
import sys

import pytest

from lmrbench.errors import RecordError
from lmrbench.files import locked, write_whole
from lmrbench.jsonl import append_line, read_lines, read_submitted_lines
from lmrbench.tasks.submission import Submission


def answer(case):
    return Submission(system="x" * 50, task="toy/blend", sample=case, code="")


def test_what_is_appended_is_read_back(tmp_path):
    file = tmp_path / "lines.jsonl"
    for case in range(3):
        append_line(file, answer(case))
    assert read_lines(file, Submission) == [answer(case) for case in range(3)]


def test_no_file_is_no_records(tmp_path):
    assert read_lines(tmp_path / "absent.jsonl", Submission) == []


@pytest.mark.parametrize("cut", [1, 5, 60])
def test_a_last_line_cut_short_by_a_kill_is_forgotten_and_then_overwritten(tmp_path, cut):
    file = tmp_path / "lines.jsonl"
    append_line(file, answer(0))
    append_line(file, answer(1))
    file.write_bytes(file.read_bytes()[:-cut])
    assert read_lines(file, Submission) == [answer(0)]
    append_line(file, answer(2))
    assert read_lines(file, Submission) == [answer(0), answer(2)]


def test_a_cut_line_longer_than_the_read_block_is_forgotten_whole(tmp_path):
    file = tmp_path / "lines.jsonl"
    append_line(file, answer(0))
    with file.open("ab") as stream:
        stream.write(b'{"reason": "' + b"x" * 200_000)
    append_line(file, answer(1))
    assert read_lines(file, Submission) == [answer(0), answer(1)]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"not json", "not valid JSON: "),
        (b"[]", "not a JSON object"),
        (b'{"system": "a"}', "task: missing"),
        (b'{"system":"a","task":"b","code":"","sample":-1}', "sample: "),
        (b'{"system":"a","task":"b","code":"","extra":1}', "extra: unknown key"),
    ],
)
def test_a_damaged_line_is_named_by_file_and_number(tmp_path, line, words):
    file = tmp_path / "lines.jsonl"
    append_line(file, answer(0))
    with file.open("ab") as stream:
        stream.write(line + b"\n")
    for read in (read_lines, read_submitted_lines):
        with pytest.raises(RecordError, match=words) as error:
            read(file, Submission)
        assert f"{file}:2: " in str(error.value)


def test_a_file_that_is_handed_in_may_lack_its_last_line_end_but_not_be_absent(tmp_path):
    file = tmp_path / "lines.jsonl"
    file.write_text(answer(0).model_dump_json())
    assert read_submitted_lines(file, Submission) == [answer(0)]
    with pytest.raises(RecordError, match="No such file"):
        read_submitted_lines(tmp_path / "absent.jsonl", Submission)


def test_write_whole_leaves_no_temporary_file_behind(tmp_path):
    write_whole(tmp_path / "deep" / "file", b"one")
    write_whole(tmp_path / "deep" / "file", b"two")
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["file"]
    assert (tmp_path / "deep" / "file").read_bytes() == b"two"


def test_a_file_system_without_locks_is_named_with_what_to_do(tmp_path, monkeypatch):
    def refused(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refused)
    message = rf"{tmp_path}/\.lock can't be locked \(No locks.*use a folder"
    with pytest.raises(RecordError, match=message), locked(tmp_path):
        pass


HOLD = """
import sys, time
from pathlib import Path
from lmrbench.files import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_two_processes_never_write_to_one_run_folder_and_a_kill_lets_go_of_it(tmp_path):
    with subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"held\n"
        named = rf"another lmrbench \(process {process.pid} on {os.uname().nodename}\) is writing"
        with pytest.raises(RecordError, match=named), locked(tmp_path):
            pass
        # What a stranger put there is not repeated.
        (tmp_path / ".lock").write_text("process 1 on \x1b[31m")
        with pytest.raises(RecordError, match="another lmrbench is writing"), locked(tmp_path):
            pass
        process.kill()
        process.wait()
        with locked(tmp_path):
            pass
