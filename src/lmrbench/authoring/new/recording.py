"""Record the calls of one function while a command runs in its repository, and read the recorded calls."""

from __future__ import annotations

import base64
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmrbench.authoring.new.recorder import FILE
from lmrbench.errors import TaskError
from lmrbench.records import Record
from lmrbench.sandbox.inside.encoding import decode
from lmrbench.source.functions import find
from lmrbench.source.syntax import ParsedSource
from lmrbench.source.syntax import decode as decode_text
from lmrbench.tasks.model import Target

_DECORATOR = '@__import__("lmrbench.authoring.new.recorder", fromlist=["record"]).record'


class Value(Record):
    """One recorded value.

    Attributes:
        type: The name of its type.
        data: The encoded value; None if it is not plain data (numbers, strings, arrays, and lists and dicts of these).
        gradient: Whether it is a tensor that requires gradients.
        left_out: For `self`, the names of the attributes that are left out because they are not plain data.
    """

    type: str
    data: str | None = None
    gradient: bool = False
    left_out: tuple[str, ...] = ()

    def decoded(self) -> Any:
        """Return the decoded value, which must be plain data."""
        assert self.data is not None
        return decode(base64.b64decode(self.data))


class Call(Record):
    """One recorded call.

    Attributes:
        arguments: The values of the arguments before the call, by name.
        result: The value that the call returned.
        changed: The names of the arguments that the call changed.
        drawn: The libraries (`random`, `numpy` or `torch`) whose global random generator the call used.
        globals: The names of the global variables that the function reads, except functions, classes and modules.
        loaded: The names of the top-level modules that had been imported by the end of the call.
        seconds: The wall-clock seconds that the call took.
    """

    arguments: dict[str, Value]
    result: Value
    changed: tuple[str, ...]
    drawn: tuple[str, ...]
    globals: tuple[str, ...]
    loaded: tuple[str, ...]
    seconds: float


def record(files: Mapping[str, bytes], target: Target, command: str, seconds: float = 300.0) -> tuple[Call, ...]:
    """Record the first calls of a target while a command runs in a copy of the repository, and return them.

    At most `recorder.MOST_CALLS` calls are recorded.

    Args:
        files: The contents of the repository's files, by path.
        target: The function to record.
        command: The command to run.
        seconds: The time limit of the command, in wall-clock seconds.

    Raises:
        TaskError: The command fails, takes too long, or never calls the target.
    """
    instrumented = {**files, target.file: _instrumented(files[target.file], target)}
    with tempfile.TemporaryDirectory(prefix="lmrbench-new-") as scratch:
        repository, recordings = Path(scratch, "repo"), Path(scratch, "calls.jsonl")
        for name, data in instrumented.items():
            (repository / name).parent.mkdir(parents=True, exist_ok=True)
            (repository / name).write_bytes(data)
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(repository), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
            FILE: str(recordings),
        }
        try:
            run = subprocess.run(
                shlex.split(command),
                cwd=repository,
                env=environment,
                timeout=seconds,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        except OSError as error:
            raise TaskError(f"{command!r} can't be started: {error.strerror}") from error
        except subprocess.TimeoutExpired as error:
            raise TaskError(f"{command!r} took more than {seconds:.0f} s") from error
        if run.returncode:
            last = run.stderr.strip().splitlines()[-1:] or ["no message"]
            raise TaskError(f"{command!r} failed with exit code {run.returncode}: {last[0]}")
        lines = recordings.read_text("utf-8").splitlines() if recordings.exists() else []
    if not lines:
        raise TaskError(f"{command!r} never calls {target}")
    return tuple(Call.model_validate(json.loads(line)) for line in lines)


def _instrumented(data: bytes, target: Target) -> bytes:
    text, encoding = decode_text(data)
    function = find(data, target.qualname)
    source = ParsedSource.parse(text)
    margin = source.margin(function.start)
    newline = source.newline(function.start)
    return (text[: function.start] + _DECORATOR + newline + margin + text[function.start :]).encode(encoding)
