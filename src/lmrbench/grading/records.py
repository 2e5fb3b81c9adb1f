"""What is written down: verdicts, grades and the facts of a run, and how JSON lines survive a kill.

A line is appended whole, in one write. A last line without its end is one that was being written when the process died:
it is cut off before the next append. Any other line that can't be read is a `RecordError` that names file and line.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from pydantic import Field, JsonValue, ValidationError

from lmrbench.errors import RecordError
from lmrbench.storage import append_whole, read_plain
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

# Of a line that somebody hands in: many times what the largest code can take as JSON.
MAX_LINE_BYTES = 16 << 20


class CaseVerdict(Record):
    """The verdict on one case under one seed; `reason` is empty for a match. seconds: what the case took."""

    seed: int
    case: int
    name: str
    verdict: Verdict
    reason: str = ""
    seconds: float = 0.0


class Terms(NamedTuple):
    """All that a verdict depends on: two grades with the same terms are of the same thing.

    candidate_digest: of the repository that was observed. task_digest: `tasks.digests.grading_digest`. environment: a
    digest of the harness, the machine and the packages that the task imports.
    """

    system: str
    task: str
    sample: int
    candidate_digest: str
    task_digest: str
    seeds: tuple[int, ...]
    sandbox: str
    environment: str


class Grade(Record):
    """The grade of one submission: passed if every case under every seed matches.

    What it holds for, its terms, is written beside it. log: the end of what the candidate printed, under the first
    seed.
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
    def terms(self) -> Terms:
        """What this grade holds for."""
        return Terms(*(getattr(self, name) for name in Terms._fields))

    def blinded(self) -> Grade:
        """The grade without what tells of expected values, inputs, or how long a candidate took over which case."""
        cases = tuple(case.model_copy(update={"name": "", "reason": "", "seconds": 0.0}) for case in self.cases)
        return self.model_copy(update={"cases": cases, "log": ""})

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
    """`run.json`: under what conditions the submissions and the last grades beside it were made.

    solving: None for submissions that came from elsewhere. fresh_seeds: the seeds were drawn for this run alone. blind:
    the grades hold no reasons.
    """

    lmrbench: str
    suite_digest: str
    tasks: tuple[str, ...]
    seeds: tuple[int, ...]
    sandbox: str
    environment: dict[str, str]
    solving: Solving | None = None
    fresh_seeds: bool = False
    blind: bool = False


def read_lines(path: Path, model: type[AnyRecord]) -> list[AnyRecord]:
    """All records of a JSON-lines file, without a last line that was cut short; [] if there is no such file."""
    return [parse_line(line, model, f"{path}:{number}") for number, line in whole_lines(path)]


def whole_lines(path: Path) -> list[tuple[int, bytes]]:
    """Number and content of the lines of a file that are whole and not empty; [] if there is no such file.

    Raises RecordError for a link: this is for files of run folders, which may come from somebody else.
    """
    try:
        whole, _, _ = read_plain(path).rpartition(b"\n")
    except FileNotFoundError:
        return []
    return [(number, line) for number, line in enumerate(whole.split(b"\n"), 1) if line.strip()]


def read_submitted_lines(path: Path, model: type[AnyRecord]) -> list[AnyRecord]:
    """All records of a file that somebody hands in, which must be there and whole; it may lack the last line's end.

    A line is read no further than `MAX_LINE_BYTES`.
    """
    records = []
    try:
        with path.open("rb") as file:
            for number in itertools.count(1):
                line = file.readline(MAX_LINE_BYTES + 1)
                if len(line) > MAX_LINE_BYTES:
                    raise RecordError(f"{path}:{number}: longer than {MAX_LINE_BYTES} bytes")
                if line.strip():
                    records.append(parse_line(line, model, f"{path}:{number}"))
                if not line:
                    break
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}") from error
    return records


def append_line(path: Path, record: Record) -> None:
    """Append one record, whole, and flush it to the disk."""
    append_whole(path, record.model_dump_json().encode() + b"\n")


def parse_line(line: bytes, model: type[AnyRecord], place: str) -> AnyRecord:
    """The record of one line. Raises RecordError, naming the place and the key at fault."""
    try:
        return model.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        raise RecordError(f"{place}: {key + ': ' if key else ''}{first['msg']}") from error
