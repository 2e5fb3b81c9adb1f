"""The program that reads submissions: `python -m lmrbench.grading.reader`, with a socket as standard input.

Each byte that arrives on this socket carries the descriptor of another socket, over which one request is made. The
program forks for each request. The fork limits its own resources, sends one byte to report its start, reads the
request and writes the reply. A fork that is killed writes no reply.
"""

from __future__ import annotations

import base64
import gc
import os
import resource
import signal
import socket
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PlainSerializer

from lmrbench.errors import SubmissionError, TaskError
from lmrbench.records import Record
from lmrbench.tasks.collect import decoded, excerpts, transplanted
from lmrbench.tasks.model import Target
from lmrbench.tasks.patches import patched
from lmrbench.tasks.submission import Text
from lmrbench.tasks.tiers.forensic import in_one_layout
from lmrbench.tasks.workspace import texts_of

# Limits on the processor time and the memory of a fork.
SECONDS = 5
MEGABYTES = 512
# Limit on the wall-clock time of a fork. It is reached before the limit on processor time only if the machine is busy.
WALL_SECONDS = 8 * SECONDS
STARTED = b"\x01"

Data = Annotated[
    bytes,
    BeforeValidator(lambda value: base64.b64decode(value, validate=True) if isinstance(value, str) else value),
    PlainSerializer(lambda value: base64.b64encode(value).decode(), when_used="json"),
]


class Request(Record):
    """A request to read one of three kinds of input: code for the targets, a diff, or whole files.

    Targets are the functions that the task masks; goal files are the files that contain them.

    Attributes:
        unsolved: The goal files with only the task's own targets masked, by path.
        masked: The goal files as the solver saw them, by path.
        targets: The targets of the task.
        code: The code to take the targets from.
        excerpts: The form of the reply to `code`: `none` returns the goal files, `whole` the transplanted code, and
            `stripped` the transplanted code without comments and docstrings.
        located: Whether to add the first line number and the text of each target to the reply.
        diff: A unified diff against the masked goal files.
        one_layout: Whether to return `files` without comments and in a normalized layout.
        files: The contents of the files to decode, by path.
    """

    unsolved: dict[str, Data] = Field(default_factory=dict)
    masked: dict[str, Data] = Field(default_factory=dict)
    targets: tuple[Target, ...] = ()
    code: str | dict[str, str] | None = None
    excerpts: Literal["none", "whole", "stripped"] = "none"
    located: bool = False
    diff: Data | None = None
    one_layout: bool = False
    files: dict[str, Data] = Field(default_factory=dict)


class Reply(Record):
    """The reply to a request: goal files to grade, decoded texts, or the reason why there are none.

    Attributes:
        files: The goal files with the targets in place, by path.
        code: Texts by path: decoded files, patched files or excerpts.
        located: The first line number and the text of each target, if requested.
        warnings: Messages about parts of the submission that were left out.
        refusal: Why the submission can't be used; empty if it can.
        tasks_fault: Why the task is malformed; empty if it is not.
    """

    files: dict[str, Data] = Field(default_factory=dict)
    code: dict[str, str] = Field(default_factory=dict)
    located: tuple[tuple[int, str], ...] = ()
    warnings: tuple[Text, ...] = ()
    refusal: Text = ""
    tasks_fault: Text = ""


def answer(request: Request) -> Reply:
    """Return the reply to a request.

    Raises:
        SubmissionError: The submission can't be used.
        TaskError: The task is malformed.
    """
    if request.code is not None:
        files, warnings = transplanted(request.unsolved, request.masked, request.targets, request.code)
        if request.excerpts != "none":
            stripped = request.excerpts == "stripped"
            return Reply(code=excerpts(request.unsolved, files, request.targets, stripped), warnings=warnings)
        located = tuple(texts_of(request.targets, files).values()) if request.located else ()
        return Reply(files=files, located=located, warnings=warnings)
    if request.diff is not None:
        code, warnings = patched(request.masked, decoded(request.diff, "the diff"))
        return Reply(code=code, warnings=warnings)
    if request.one_layout:
        return Reply(code={name: in_one_layout(data) for name, data in request.files.items()})
    return Reply(code={name: decoded(data, name) for name, data in request.files.items()})


def main() -> None:
    """Fork for each socket that the host sends, until the host closes the connection."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.freeze()
    with socket.socket(fileno=0) as control:
        control.send(STARTED)
        # The host reads standard error only until the program has started; later output could fill the pipe.
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        while True:
            _, descriptors, _, _ = socket.recv_fds(control, 1, 1)
            if not descriptors:
                return
            if os.fork() == 0:
                try:
                    control.close()
                    _serve(socket.socket(fileno=descriptors[0]))
                finally:
                    os._exit(0)
            os.close(descriptors[0])


def _serve(host: socket.socket) -> None:
    signal.alarm(WALL_SECONDS)
    memory = MEGABYTES << 20
    for name, limit in (("CPU", SECONDS), ("AS", memory), ("CORE", 0), ("FSIZE", 0)):
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limit, limit))
    # The process ends after one request, so there is no need to collect cycles.
    gc.disable()
    host.sendall(STARTED)
    with host.makefile("rb") as stream:
        request = Request.model_validate_json(stream.read())
    try:
        reply = answer(request)
    except SubmissionError as error:
        reply = Reply(refusal=str(error))
    except TaskError as error:
        reply = Reply(tasks_fault=str(error))
    except MemoryError:
        return
    except RecursionError:
        reply = Reply(refusal="the code is nested too deeply to be read")
    except Exception as error:
        reply = Reply(refusal=f"the code can't be read: {type(error).__name__}")
    host.sendall(reply.model_dump_json().encode())


if __name__ == "__main__":
    main()
