"""A run packed for others to grade again, and such a pack read as what a stranger sent.

A pack is a zip file of `manifest.json`, `run.json`, `submissions.jsonl`, `grades.jsonl`, `usage.jsonl` where a model
was asked, and `logs/1.jsonl` and so on where they are wanted. Of the run it holds what grading again needs and what is
claimed; of the machine that made it, neither paths nor addresses nor the seed that is kept secret there. The same run
gives the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import Field, JsonValue

from lmrbench.errors import RecordError
from lmrbench.files import locked, reading_plain, write_whole
from lmrbench.grading.draw import installation_seed
from lmrbench.jsonl import MAX_LINE_BYTES, numbered_lines
from lmrbench.records import StoredRecord, read_record
from lmrbench.runs.folder import FACTS, GRADES, SUBMISSIONS, USAGE, Run, read_run
from lmrbench.runs.records import UNANSWERED, RunFacts, Usage
from lmrbench.runs.transcripts import transcripts
from lmrbench.tasks.submission import Answer, SampleNumber, Submission, Text

MANIFEST = "manifest.json"
# Of a pack that is read: its own size, that of all its files unpacked, how many they are, and how many answers.
MOST_PACKED, MOST_UNPACKED, MOST_FILES, MOST_ANSWERS = 128 << 20, 512 << 20, 1000, 100_000
_LOG = re.compile(r"logs/[1-9][0-9]{0,5}\.jsonl")
# The settings that say how a system was asked. Others may hold paths, addresses and commands of a machine.
_TOLD = (
    *("model", "system", "setting", "inputs", "paper", "samples", "max_characters", "retrieve", "repairs", "agent"),
    *("turns", "trace_progress", "agent_sandbox", "temperature", "max_tokens", "reasoning_effort", "token_limit"),
    *("time_limit", "cost_limit"),
)
_LONGEST_SETTING = 200


class Manifest(StoredRecord):
    """What a pack holds: the version and the suite that its verdicts were made by, and each file's SHA-256."""

    lmrbench: Text
    suite: Text
    suite_digest: Text
    files: dict[str, str]


class Claim(StoredRecord):
    """What a pack says of one answer."""

    system: Text = Field(min_length=1)
    task: Text = Field(min_length=1)
    sample: SampleNumber
    passed: bool

    @property
    def answer(self) -> Answer:
        """Which answer it is of."""
        return Answer(self.system, self.task, self.sample)


@dataclass(frozen=True)
class Pack:
    """A pack that was read. digest: SHA-256 of the file."""

    digest: str
    manifest: Manifest
    facts: RunFacts
    submissions: tuple[Submission, ...]
    claims: tuple[Claim, ...]
    usages: tuple[Usage, ...]


def public_settings(solving: Mapping[str, JsonValue] | None) -> dict[str, JsonValue] | None:
    """The settings that a model was asked under, without what tells of the machine; None where there are none."""
    if solving is None:
        return None
    told = {name: solving[name] for name in _TOLD if isinstance(solving.get(name), str | int | float)}
    return {name: value[:_LONGEST_SETTING] if isinstance(value, str) else value for name, value in told.items()}


def public_seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    """The seeds that may be told; () where one is this installation's own, under which others are still graded."""
    return () if installation_seed() in seeds else tuple(seeds)


def write_pack(folder: Path, file: Path, with_logs: bool = False) -> Manifest:
    """Pack a run. with_logs: also what was said to the model and what it answered.

    Raises RecordError for a run that holds nothing, that is still going, or whose answers have no grades.
    """
    if not folder.is_dir():
        raise RecordError(f"{folder}: there is no such run folder")
    with locked(folder):
        run = read_run(folder)
        facts = _require_finished(run)
        files = _files_of(run, facts)
        if with_logs:
            texts = transcripts(folder)
            files |= {f"logs/{number}.jsonl": text.encode() for number, text in enumerate(texts, 1)}
    manifest = Manifest(
        lmrbench=facts.lmrbench,
        suite=facts.suite,
        suite_digest=facts.suite_digest,
        files={name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())},
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in ((MANIFEST, manifest.model_dump_json(indent=2).encode() + b"\n"), *sorted(files.items())):
            # The date is always the same, and so are the bytes.
            entry = zipfile.ZipInfo(name)
            entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, 0o644 << 16, 3
            archive.writestr(entry, data)
    write_whole(file, packed.getvalue())
    return manifest


def read_pack(file: Path) -> Pack:
    """Read a pack that anybody may have written; nothing of it is unpacked to the disk.

    Raises RecordError, in one line, for one that is damaged, too large, or not what its manifest says.
    """
    try:
        with reading_plain(file) as opened:
            data = opened.read(MOST_PACKED + 1)
    except FileNotFoundError:
        raise RecordError(f"{file}: there is no such file") from None
    if len(data) > MOST_PACKED:
        raise RecordError(f"{file}: is larger than {MOST_PACKED >> 20} MiB")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files, logs = _checked(archive, file)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        # What the library raises for archives that are damaged, encrypted, or of a kind it does not read.
        raise RecordError(f"{file}: is no zip file that can be read: {error}") from error
    manifest = read_record(files[MANIFEST], Manifest, f"{file}: {MANIFEST}")
    for name, digest in manifest.files.items():
        if name in logs:
            # Nothing is read of them.
            continue
        if name not in files:
            raise RecordError(f"{file}: {name} is named in {MANIFEST}, and missing")
        if hashlib.sha256(files[name]).hexdigest() != digest:
            raise RecordError(f"{file}: {name} is not what {MANIFEST} says: its SHA-256 differs")
    if unnamed := sorted((files.keys() | logs) - manifest.files.keys() - {MANIFEST}):
        raise RecordError(f"{file}: {unnamed[0]} is not named in {MANIFEST}")
    facts = read_record(files[FACTS], RunFacts, f"{file}: {FACTS}")
    submissions = _records(files[SUBMISSIONS], Submission, f"{file}: {SUBMISSIONS}")
    claims = _records(files[GRADES], Claim, f"{file}: {GRADES}")
    usages = _records(files.get(USAGE, b""), Usage, f"{file}: {USAGE}")
    answers = _distinct((item.answer for item in submissions), f"{file}: {SUBMISSIONS}")
    if not answers:
        raise RecordError(f"{file}: holds no submissions")
    if answers != _distinct((item.answer for item in claims), f"{file}: {GRADES}"):
        raise RecordError(f"{file}: {GRADES} does not hold one verdict for each answer of {SUBMISSIONS}")
    if not _distinct((item.answer for item in usages), f"{file}: {USAGE}") <= answers:
        raise RecordError(f"{file}: {USAGE} tells of answers that are not in {SUBMISSIONS}")
    # What is left unanswered is in no rate, so that answers that fail could be hidden by saying so.
    if lost := [item for item in usages if item.status in UNANSWERED]:
        raise RecordError(f"{file}: {USAGE} says that {lost[0].task} was left unanswered, and there is an answer to it")
    told = facts.model_copy(update={"solving": public_settings(facts.solving), "source": ""})
    digest = hashlib.sha256(data).hexdigest()
    return Pack(digest, manifest, told, tuple(submissions), tuple(claims), tuple(map(_told, usages)))


def _require_finished(run: Run) -> RunFacts:
    """The conditions of a run that is over."""
    if run.facts is None:
        raise RecordError(f"{run.folder}: holds no {FACTS}, so that nobody knows what it is a run of")
    graded = {item.answer for item in run.grades}
    handed_in = {item.answer for item in run.submissions}
    if not handed_in:
        raise RecordError(f"{run.folder}: holds no answers to pack")
    if run.unanswered:
        raise RecordError(f"{run.folder}: is in progress: {len(run.unanswered)} samples have no answer yet")
    if missing := len(handed_in - graded):
        raise RecordError(f"{run.folder}: is in progress: {missing} of {len(handed_in)} answers have no grade yet")
    if other := sorted(graded - handed_in):
        raise RecordError(f"{run.folder}: {other[0]} has a grade, and is not there")
    if (solving := run.facts.solving) is not None:
        samples = solving.get("samples")
        asked = {(task, sample) for task in run.facts.tasks for sample in range(samples if type(samples) is int else 1)}
        if missing := len(asked - {(item.task, item.sample) for item in run.usages}):
            raise RecordError(f"{run.folder}: is in progress: {missing} of {len(asked)} samples have not ended yet")
    return run.facts


def _files_of(run: Run, facts: RunFacts) -> dict[str, bytes]:
    """The files of a pack by name, without manifest and logs."""
    answers = [item.model_copy(update={"warnings": ()}) for item in run.submissions]
    claims = [
        Claim(system=item.system, task=item.task, sample=item.sample, passed=item.passed)
        for item in sorted(run.grades, key=lambda item: item.answer)
    ]
    public = {"solving": public_settings(facts.solving), "seeds": public_seeds(facts.seeds), "source": ""}
    told = facts.model_copy(update=public)
    files = {
        FACTS: told.model_dump_json(indent=2).encode() + b"\n",
        SUBMISSIONS: _lines(answers),
        GRADES: _lines(claims),
    }
    if run.usages:
        files[USAGE] = _lines(map(_told, run.usages))
    return files


def _told(item: Usage) -> Usage:
    """How an answer ended and what it cost, without the words of a provider, which may name accounts and places."""
    return item.model_copy(update={"detail": ""})


def _lines(records: Iterable[StoredRecord]) -> bytes:
    return "".join(item.model_dump_json() + "\n" for item in records).encode()


def _checked(archive: zipfile.ZipFile, file: Path) -> tuple[dict[str, bytes], set[str]]:
    """The files of an archive by name, and the names of logs. Names, number and sizes are looked at before reading."""
    entries = archive.infolist()
    if len(entries) > MOST_FILES:
        raise RecordError(f"{file}: holds {len(entries)} files, more than {MOST_FILES}")
    if sum(item.file_size for item in entries) > MOST_UNPACKED:
        raise RecordError(f"{file}: unpacks to more than {MOST_UNPACKED >> 20} MiB")
    known = (MANIFEST, FACTS, SUBMISSIONS, GRADES, USAGE)
    names = [item.filename for item in entries]
    if strange := [name for name in names if name not in known and not _LOG.fullmatch(name)]:
        raise RecordError(f"{file}: holds {strange[0][:_LONGEST_SETTING]!r}, which is no file of a pack")
    if twice := [name for name in names if names.count(name) > 1]:
        raise RecordError(f"{file}: holds {twice[0]} twice")
    if missing := [name for name in known if name not in names and name != USAGE]:
        raise RecordError(f"{file}: holds no {missing[0]}")
    ways = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    if others := [item.filename for item in entries if item.compress_type not in ways]:
        raise RecordError(f"{file}: {others[0]} is packed in another way than by deflate")
    # By these ways an entry gives at most the bytes that it says it has, however little it was packed into.
    return {name: archive.read(name) for name in names if name in known}, set(names) - set(known)


Stored = TypeVar("Stored", bound=StoredRecord)


def _records(data: bytes, model: type[Stored], place: str) -> list[Stored]:
    lines = list(numbered_lines(data))
    if len(lines) > MOST_ANSWERS:
        raise RecordError(f"{place}: holds {len(lines)} lines, more than {MOST_ANSWERS}")
    if long := [number for number, line in lines if len(line) > MAX_LINE_BYTES]:
        raise RecordError(f"{place}:{long[0]}: longer than {MAX_LINE_BYTES} bytes")
    return [read_record(line, model, f"{place}:{number}") for number, line in lines]


def _distinct(answers: Iterable[Answer], place: str) -> set[Answer]:
    found: set[Answer] = set()
    for answer in answers:
        if answer in found:
            raise RecordError(f"{place}: {answer} is there twice")
        found.add(answer)
    return found
