"""What is written down: verdicts, grades and the facts of a run, and how JSON lines survive a kill.

A line is appended whole, in one write. A last line without its end is one that was being written when the process died:
it is cut off before the next append. Any other line that can't be read is a `RecordError` that names file and line.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import Field, JsonValue, ValidationError

from lmrbench.errors import RecordError
from lmrbench.tasks.model import Category, Inputs, Record

Verdict = Literal["match", "mismatch", "error", "timeout", "missing"]
# How an answer ended. The last three are the machinery's: such a sample has no grade, and is asked again.
Status = Literal[
    "answered",
    "truncated",
    "refused",
    "filtered",
    "empty",
    "unusable",
    "limit",
    "provider_error",
    "agent_crash",
    "machine_error",
]
UNANSWERED: tuple[Status, ...] = ("provider_error", "agent_crash", "machine_error")
AnyRecord = TypeVar("AnyRecord", bound=Record)


class CaseVerdict(Record):
    """The verdict on one case under one seed; `reason` is empty for a match. seconds: what the case took."""

    seed: int
    case: int
    name: str
    verdict: Verdict
    reason: str = ""
    seconds: float = 0.0


class Grade(Record):
    """The grade of one submission: passed if every case under every seed matches.

    What it holds for is written beside it: the digests of candidate and task, the seeds, the sandbox, and the digest of
    the environment. log: the end of what the candidate printed, under the first seed.
    """

    system: str
    task: str
    sample: int
    label: str
    category: Category
    passed: bool
    cases: tuple[CaseVerdict, ...]
    seconds: float
    peak_mb: float
    warnings: tuple[str, ...]
    log: str
    candidate_digest: str
    task_digest: str
    seeds: tuple[int, ...]
    sandbox: str
    environment: str

    @property
    def holds_for(self) -> tuple[object, ...]:
        """All that a verdict depends on: two grades that agree in this are of the same thing."""
        return (
            *(self.system, self.task, self.sample, self.candidate_digest, self.task_digest),
            *(self.seeds, self.sandbox, self.environment),
        )

    @property
    def first_failure(self) -> CaseVerdict | None:
        """The first case that does not match."""
        return next((case for case in self.cases if case.verdict != "match"), None)


class Solving(Record):
    """Who was asked, and how.

    generation: the model's settings, such as temperature, as Inspect names them. base_url: of the provider's API.
    model_args: further arguments of the provider, without secrets. limits: for one task, in tokens, seconds and
    dollars. prices: of the model, in dollars per million tokens.
    """

    model: str
    system: str
    setting: Literal["prompt", "agent"]
    inputs: Inputs
    paper: Literal["digest", "pdf", "latex"]
    samples: int
    repairs: int
    agent: str
    agent_command: str
    turns: int
    sandbox: str
    shown: str
    generation: dict[str, int | float | str]
    base_url: str = ""
    model_args: dict[str, JsonValue] = Field(default_factory=dict)
    limits: dict[str, int | float] = Field(default_factory=dict)
    prices: dict[str, float] = Field(default_factory=dict)

    @property
    def conditions(self) -> dict[str, object]:
        """What a run must keep to when it goes on. A server may have moved, and prices change no answer."""
        return self.model_dump(exclude={"base_url", "prices"})


class Usage(Record):
    """How one answer ended, and what it cost: calls of the model, tokens, dollars where prices are known, seconds.

    detail: why, where the status alone does not say it. seconds: working time of model and tools, without waiting for
    the provider and without grading. limit: the limit that ended it, if one did. cut: the parts of the prompt that
    were cut.
    """

    system: str
    task: str
    sample: int
    status: Status
    detail: str
    calls: int
    input_tokens: int
    output_tokens: int
    dollars: float | None
    seconds: float
    limit: str
    cut: tuple[str, ...]


class RunFacts(Record):
    """`run.json`: under what conditions the submissions and grades beside it were made.

    solving: None for submissions that came from elsewhere.
    """

    lmrbench: str
    suite_digest: str
    tasks: tuple[str, ...]
    seeds: tuple[int, ...]
    sandbox: str
    environment: dict[str, str]
    solving: Solving | None = None


def read_lines(path: Path, model: type[AnyRecord]) -> list[AnyRecord]:
    """All records of a JSON-lines file, without a last line that was cut short; [] if there is no such file."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}") from error
    whole, _, _ = data.rpartition(b"\n")
    return [
        _parse(line, model, f"{path}:{number}") for number, line in enumerate(whole.split(b"\n"), 1) if line.strip()
    ]


def read_submitted_lines(path: Path, model: type[AnyRecord]) -> list[AnyRecord]:
    """All records of a file that somebody hands in, which must be there and whole; it may lack the last line's end."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}") from error
    return [_parse(line, model, f"{path}:{number}") for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]


def append_line(path: Path, record: Record) -> None:
    """Append one record, whole, and flush it to the disk."""
    line = record.model_dump_json().encode() + b"\n"
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.ftruncate(fd, _whole_length(fd))
        os.write(fd, line)
        os.fsync(fd)
    finally:
        os.close(fd)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that whoever reads it, at any moment, finds the old content or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a run folder for this process alone; RecordError if another one holds it. A kill lets go of it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RecordError(f"{folder}: another lmrbench is writing to this run folder") from error
        yield


def _whole_length(fd: int) -> int:
    """The length of a file up to the end of its last whole line."""
    end = os.fstat(fd).st_size
    while end > 0:
        start = max(0, end - 65536)
        position = os.pread(fd, end - start, start).rfind(b"\n")
        if position >= 0:
            return start + position + 1
        end = start
    return 0


def _parse(line: bytes, model: type[AnyRecord], place: str) -> AnyRecord:
    try:
        return model.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        raise RecordError(f"{place}: {key + ': ' if key else ''}{first['msg']}") from error
