"""Read submissions within limits on time and memory. Any submission results in code to run or in a SubmissionError.

On hostile text, Python's parser and code that works on its trees can take unbounded time and memory. So submissions are
read in another process (`lmrbench.grading.reader`), which is started when it is first needed. It forks for each
submission; the fork has limits on processor time, memory and wall-clock time. Requests and replies are JSON. If a fork
ends without a reply, only the submission that it was reading is lost.
"""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from lmrbench.errors import SandboxError, SubmissionError, TaskError
from lmrbench.grading.reader import MEGABYTES, SECONDS, STARTED, WALL_SECONDS, Reply, Request
from lmrbench.tasks.collect import workspace_answer
from lmrbench.tasks.foreign import read_foreign
from lmrbench.tasks.model import Target, Task
from lmrbench.tasks.submission import MAX_CODE_BYTES, Submission
from lmrbench.tasks.workspace import masked_files, unsolved_files
from lmrbench.text import printable

SIDE_BY_SIDE = len(os.sched_getaffinity(0))
START_SECONDS = 120.0
_MAX_REPLY = 64 << 20
_MAX_MESSAGE = 1000


def read_submission(task: Task, submission: Submission) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Transplant a submission's targets into the repository in which they are masked.

    Returns:
        The contents of the repository's files by path, and warnings about parts of the submission that were left out.

    Raises:
        SubmissionError: The submission can't be used, or can't be read within the limits.
        TaskError: The task is malformed.
    """
    reply = _ask(_transplantation(task, submission))
    if reply.files.keys() != set(task.goal_files):
        raise SubmissionError(_LOST)
    return {**unsolved_files(task), **reply.files}, reply.warnings


def read_targets(task: Task, submission: Submission) -> tuple[dict[str, bytes], dict[Target, tuple[int, str]]]:
    """Transplant a submission's targets and locate them.

    Returns:
        The goal files with the targets in place, and the first line number and the text of each target, as
        `target_texts` returns them.

    Raises:
        SubmissionError: See `read_submission`.
    """
    reply = _ask(_transplantation(task, submission).model_copy(update={"located": True}))
    if reply.files.keys() != set(task.goal_files) or len(reply.located) != len(task.targets):
        raise SubmissionError(_LOST)
    return reply.files, dict(zip(task.targets, reply.located, strict=True))


def read_in_one_layout(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return a candidate's files without comments and in a normalized layout; {} if one of them can't be read."""
    try:
        return _ask(Request(files=dict(files), one_layout=True)).code
    except SubmissionError:
        return {}


def read_excerpts(task: Task, submission: Submission, stripped: bool) -> dict[str, str]:
    """Return a submission's targets and the code that is transplanted with them, by goal file.

    Args:
        task: The task that was answered.
        submission: The answer.
        stripped: Whether to leave out comments and docstrings.

    Raises:
        SubmissionError: See `read_submission`.
    """
    request = _transplantation(task, submission)
    reply = _ask(request.model_copy(update={"excerpts": "stripped" if stripped else "whole"}))
    if reply.code.keys() != set(task.goal_files):
        raise SubmissionError(_LOST)
    return reply.code


def _transplantation(task: Task, submission: Submission) -> Request:
    if submission.code_bytes > MAX_CODE_BYTES:
        raise SubmissionError(f"the code is larger than {MAX_CODE_BYTES} bytes")
    goals, shown = (
        {name: files[name] for name in task.goal_files} for files in (unsolved_files(task), masked_files(task))
    )
    return Request(unsolved=goals, masked=shown, targets=task.targets, code=submission.code)


def collect(task: Task, path: Path, system: str, sample: int = 0) -> Submission:
    """Make a submission from the files or the response of a solver.

    Args:
        task: The task that was solved.
        path: An edited workspace (a folder), a `.diff` or `.patch` against one, or a file with Python code or a model's
            full response.
        system: The solver's name in tables.
        sample: Number of this answer among the system's answers to the task.

    Raises:
        SubmissionError: There is no such file, or nothing in it can be used.
    """
    if path.is_dir():
        return collect_workspace(task, path, system, sample)
    data = read_foreign(path.parent, path.name, MAX_CODE_BYTES)
    if data is None:
        raise SubmissionError(f"{path}: there is no such file")
    if path.suffix in (".diff", ".patch"):
        return collect_diff(task, data, system, sample)
    return collect_text(task, data, str(path), system, sample)


def collect_workspace(task: Task, folder: Path, system: str, sample: int = 0) -> Submission:
    """Make a submission from an edited workspace that `export_workspace` wrote."""
    files, warnings = workspace_answer(task, folder)
    code = _ask(Request(files=files)).code
    return Submission(system=system, task=task.id, sample=sample, code=code, warnings=warnings)


def collect_diff(task: Task, data: bytes, system: str, sample: int = 0) -> Submission:
    """Make a submission from a unified diff against the workspace or the masked repository."""
    masked = masked_files(task)
    reply = _ask(Request(masked={name: masked[name] for name in task.goal_files}, diff=_bounded(data, "the diff")))
    return Submission(system=system, task=task.id, sample=sample, code=reply.code, warnings=reply.warnings)


def collect_text(task: Task, data: bytes, name: str, system: str, sample: int = 0) -> Submission:
    """Make a submission from the content of a Python file or a model's response. Error messages call it `name`."""
    reply = _ask(Request(files={name: _bounded(data, name)}))
    return Submission(system=system, task=task.id, sample=sample, code=reply.code.get(name, ""))


def _bounded(data: bytes, name: str) -> bytes:
    if len(data) > MAX_CODE_BYTES:
        raise SubmissionError(f"{printable(name)} is larger than {MAX_CODE_BYTES} bytes")
    return data


_LOST = f"the code can't be read within {SECONDS} s and {MEGABYTES} MB"


class _Reader:
    """The process that reads submissions. The constructor raises SandboxError if the process does not start."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        self._control.settimeout(START_SECONDS)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "lmrbench.grading.reader"],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        try:
            started = self._control.recv(1) == STARTED
        except OSError:
            started = False
        if not started:
            self._process.kill()
            words = self._process.communicate()[1].decode("utf-8", "replace").strip().splitlines()[-1:]
            raise SandboxError(": ".join(["the process that reads submissions did not start", *words]))

    def fork(self) -> socket.socket:
        """Return the socket of a new fork that waits for a request. Raises OSError if the process has ended."""
        ours, theirs = socket.socketpair()
        ours.settimeout(WALL_SECONDS + START_SECONDS)
        with theirs:
            socket.send_fds(self._control, [b"\0"], [theirs.fileno()])
        if ours.recv(1) != STARTED:
            ours.close()
            raise ConnectionError("the process that reads submissions has ended")
        return ours

    def close(self) -> None:
        """End the process. Forks that are serving a request continue."""
        self._control.close()
        self._process.kill()
        self._process.communicate()


_reader: _Reader | None = None
_changing = threading.Lock()
_at_once = threading.BoundedSemaphore(SIDE_BY_SIDE)


def _ask(request: Request) -> Reply:
    data = request.model_dump_json().encode()
    with _at_once, _fork() as fork:
        try:
            reply = Reply.model_validate_json(_exchange(fork, data))
        except (OSError, ValidationError) as error:
            raise SubmissionError(_LOST) from error
    if reply.tasks_fault:
        raise TaskError(reply.tasks_fault)
    if reply.refusal:
        raise SubmissionError(_message(reply.refusal))
    return reply.model_copy(update={"warnings": tuple(map(_message, reply.warnings))})


def _fork() -> socket.socket:
    """Return the socket of a new fork. Starts the process if there is none, and restarts it once if it has ended."""
    global _reader
    for again in (False, True):
        with _changing:
            reader = _reader = _reader or _Reader()
        try:
            return reader.fork()
        except OSError as error:
            _close(reader)
            if again:
                raise SandboxError(f"submissions can't be read: {error}") from error
    raise AssertionError


def _close(reader: _Reader | None) -> None:
    global _reader
    with _changing:
        if _reader is reader:
            _reader = None
    if reader is not None:
        reader.close()


def _forget() -> None:
    """Forget the parent's process, and replace locks that other threads may hold. Called in a forked child."""
    global _reader, _changing, _at_once
    _reader, _changing, _at_once = None, threading.Lock(), threading.BoundedSemaphore(SIDE_BY_SIDE)


atexit.register(lambda: _close(_reader))
os.register_at_fork(after_in_child=_forget)


def _exchange(fork: socket.socket, data: bytes) -> bytes:
    fork.sendall(data)
    fork.shutdown(socket.SHUT_WR)
    reply = bytearray()
    while piece := fork.recv(1 << 20):
        reply += piece
        if len(reply) > _MAX_REPLY:
            raise ConnectionError("the reply is too long")
    return bytes(reply)


def _message(text: str) -> str:
    text = printable(text)
    return text if len(text) <= _MAX_MESSAGE else text[:_MAX_MESSAGE] + "…"
