"""Write packs, and read packs from untrusted sources safely.

A pack is one file with the content of a run, so that others can grade its answers again. It is a zip file that contains
`manifest.json`, `run.json`, `submissions.jsonl` and `grades.jsonl`, as well as `usage.jsonl` if a model was asked and,
on request, transcripts (`logs/1.jsonl` and so on). It contains the answers and the claimed grades, but no paths,
addresses or secret seeds of the machine that made it. Packing is deterministic: the same run gives the same bytes.
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
from typing import ClassVar

from pydantic import Field, JsonValue

from lmrbench.errors import RecordError
from lmrbench.files import locked, reading_plain, write_whole
from lmrbench.grading.draw import installation_seed
from lmrbench.grading.records import without_edge_cases
from lmrbench.jsonl import MAX_LINE_BYTES, numbered_lines
from lmrbench.records import Migration, Stored, StoredRecord, read_record
from lmrbench.runs.folder import FACTS, GRADES, SUBMISSIONS, USAGE, Run, read_run
from lmrbench.runs.records import UNANSWERED, RunFacts, Usage
from lmrbench.runs.transcripts import transcripts
from lmrbench.tasks.submission import Answer, SampleNumber, Submission, Text

MANIFEST = "manifest.json"
# Limits of a pack: its size, the total size of its unpacked files, the number of files, and the number of answers.
MOST_PACKED, MOST_UNPACKED, MOST_FILES, MOST_ANSWERS = 128 << 20, 512 << 20, 1000, 100_000
_LOG = re.compile(r"logs/[1-9][0-9]{0,5}\.jsonl")
# The settings that are published. Other settings may contain paths, addresses and commands of a machine.
_PUBLIC_SETTINGS = (
    *("model", "system", "setting", "inputs", "paper", "samples", "max_characters", "retrieve", "repairs", "agent"),
    *("turns", "trace_progress", "agent_sandbox", "temperature", "max_tokens", "reasoning_effort", "token_limit"),
    *("time_limit", "cost_limit"),
)
_LONGEST_SETTING = 200


class Manifest(StoredRecord):
    """`manifest.json`: the files of a pack, and the version of lmrbench and the suite that it was graded with.

    Attributes:
        lmrbench: The version of lmrbench that graded the answers.
        suite: The name and version of the suite.
        suite_digest: The digest of the suite.
        files: The SHA-256 of each file by its name.
    """

    lmrbench: Text
    suite: Text
    suite_digest: Text
    files: dict[str, str]


class Claim(StoredRecord):
    """The grade that a pack claims for one answer."""

    migrations: ClassVar[Mapping[int, Migration]] = {3: without_edge_cases}

    system: Text = Field(min_length=1)
    task: Text = Field(min_length=1)
    sample: SampleNumber
    correct: bool
    robust: bool

    @property
    def answer(self) -> Answer:
        """The answer that the pack makes the claim about."""
        return Answer(self.system, self.task, self.sample)


@dataclass(frozen=True)
class Pack:
    """The content of a pack after it was read and checked.

    Attributes:
        digest: The SHA-256 of the pack.
        manifest: The pack's manifest.
        facts: The conditions of the run, with public settings only.
        submissions: The answers.
        claims: The claimed grade of each answer.
        usages: The outcome and the cost of each answer of a model.
    """

    digest: str
    manifest: Manifest
    facts: RunFacts
    submissions: tuple[Submission, ...]
    claims: tuple[Claim, ...]
    usages: tuple[Usage, ...]


def public_settings(solving: Mapping[str, JsonValue] | None) -> dict[str, JsonValue] | None:
    """Return those settings of a run that may be published.

    Args:
        solving: The settings with which a model solved the tasks, or None if lmrbench did not ask a model.

    Returns:
        The settings without paths, addresses and commands, and with long texts truncated. None if `solving` is None.
    """
    if solving is None:
        return None
    public = {name: solving[name] for name in _PUBLIC_SETTINGS if isinstance(solving.get(name), str | int | float)}
    return {name: value[:_LONGEST_SETTING] if isinstance(value, str) else value for name, value in public.items()}


def public_seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    """Return the seeds, or () if they contain the installation's secret seed, which later runs use, too."""
    return () if installation_seed() in seeds else tuple(seeds)


def write_pack(folder: Path, file: Path, with_logs: bool = False) -> Manifest:
    """Write the pack of a finished run.

    Args:
        folder: The run folder.
        file: The pack to write.
        with_logs: Whether to include the conversations with the model.

    Returns:
        The manifest of the pack.

    Raises:
        RecordError: The folder contains no run, the run is empty or not finished, or another process is writing to it.
    """
    if not folder.is_dir():
        raise RecordError(f"{folder}: no such run folder")
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
            # ZipInfo's default date is a constant, so that equal runs give equal bytes.
            entry = zipfile.ZipInfo(name)
            entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, 0o644 << 16, 3
            archive.writestr(entry, data)
    write_whole(file, packed.getvalue())
    return manifest


def read_pack(file: Path) -> Pack:
    """Read a pack from an untrusted source without unpacking it to disk.

    Args:
        file: The pack.

    Returns:
        The checked content of the pack.

    Raises:
        RecordError: The pack is damaged, too large, inconsistent, or differs from its manifest. The message has one
            line.
    """
    try:
        with reading_plain(file) as opened:
            data = opened.read(MOST_PACKED + 1)
    except FileNotFoundError:
        raise RecordError(f"{file}: no such file") from None
    if len(data) > MOST_PACKED:
        raise RecordError(f"{file} is larger than {MOST_PACKED >> 20} MiB")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files, logs = _checked(archive, file)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        # zipfile raises these errors for damaged, encrypted and unsupported archives.
        raise RecordError(f"{file}: not a readable zip file: {error}") from error
    manifest = _checked_manifest(files, logs, file)
    facts = read_record(files[FACTS], RunFacts, f"{file}: {FACTS}")
    submissions = _records(files[SUBMISSIONS], Submission, f"{file}: {SUBMISSIONS}")
    claims = _records(files[GRADES], Claim, f"{file}: {GRADES}")
    usages = _records(files.get(USAGE, b""), Usage, f"{file}: {USAGE}")
    answers = _distinct((item.answer for item in submissions), f"{file}: {SUBMISSIONS}")
    if not answers:
        raise RecordError(f"{file} contains no submissions")
    if answers != _distinct((item.answer for item in claims), f"{file}: {GRADES}"):
        raise RecordError(f"{file}: {GRADES} does not contain exactly one grade for each answer in {SUBMISSIONS}")
    if not _distinct((item.answer for item in usages), f"{file}: {USAGE}") <= answers:
        raise RecordError(f"{file}: {USAGE} names answers that are not in {SUBMISSIONS}")
    # Unanswered samples are excluded from rates, so a submitter could hide failures by marking them unanswered.
    if lost := [item for item in usages if item.status in UNANSWERED]:
        raise RecordError(f"{file}: {USAGE} marks {lost[0].task} as unanswered, but {SUBMISSIONS} has an answer to it")
    public = facts.model_copy(update={"solving": public_settings(facts.solving), "source": ""})
    digest = hashlib.sha256(data).hexdigest()
    return Pack(digest, manifest, public, tuple(submissions), tuple(claims), tuple(map(_public_usage, usages)))


def _checked_manifest(files: Mapping[str, bytes], logs: set[str], file: Path) -> Manifest:
    """Read the manifest of a pack and compare it with the files. Logs are not read."""
    manifest = read_record(files[MANIFEST], Manifest, f"{file}: {MANIFEST}")
    for name, digest in manifest.files.items():
        if name in logs:
            continue
        if name not in files:
            raise RecordError(f"{file}: {name} is listed in {MANIFEST} but missing")
        if hashlib.sha256(files[name]).hexdigest() != digest:
            raise RecordError(f"{file}: the SHA-256 of {name} differs from the one in {MANIFEST}")
    if unlisted := sorted((files.keys() | logs) - manifest.files.keys() - {MANIFEST}):
        raise RecordError(f"{file}: {unlisted[0]} is not listed in {MANIFEST}")
    return manifest


def _require_finished(run: Run) -> RunFacts:
    """Return the conditions of a finished run, or raise RecordError."""
    if run.facts is None:
        raise RecordError(f"{run.folder} contains no {FACTS}, which names the suite and the settings of the run")
    graded = {item.answer for item in run.grades}
    handed_in = {item.answer for item in run.submissions}
    if not handed_in:
        raise RecordError(f"{run.folder} contains no answers to pack")
    if run.unanswered:
        raise RecordError(f"{run.folder} is in progress; samples without an answer: {len(run.unanswered)}")
    if missing := len(handed_in - graded):
        raise RecordError(f"{run.folder} is in progress: {missing} of {len(handed_in)} answers have no grade yet")
    if other := sorted(graded - handed_in):
        raise RecordError(f"{run.folder}: {other[0]} has a grade but no submission")
    if (solving := run.facts.solving) is not None:
        samples = solving.get("samples")
        asked = {(task, sample) for task in run.facts.tasks for sample in range(samples if type(samples) is int else 1)}
        if missing := len(asked - {(item.task, item.sample) for item in run.usages}):
            raise RecordError(f"{run.folder} is in progress: {missing} of {len(asked)} samples have not ended yet")
    return run.facts


def _files_of(run: Run, facts: RunFacts) -> dict[str, bytes]:
    """Return the content of a pack's files by name, without the manifest and logs."""
    answers = [item.model_copy(update={"warnings": ()}) for item in run.submissions]
    claims = [
        Claim(system=item.system, task=item.task, sample=item.sample, correct=item.correct, robust=item.robust)
        for item in sorted(run.grades, key=lambda item: item.answer)
    ]
    public = {"solving": public_settings(facts.solving), "seeds": public_seeds(facts.seeds), "source": ""}
    files = {
        FACTS: facts.model_copy(update=public).model_dump_json(indent=2).encode() + b"\n",
        SUBMISSIONS: _lines(answers),
        GRADES: _lines(claims),
    }
    if run.usages:
        files[USAGE] = _lines(map(_public_usage, run.usages))
    return files


def _public_usage(item: Usage) -> Usage:
    """Return a usage record without the provider's message, which may name accounts and paths."""
    return item.model_copy(update={"detail": ""})


def _lines(records: Iterable[StoredRecord]) -> bytes:
    return "".join(item.model_dump_json() + "\n" for item in records).encode()


def _checked(archive: zipfile.ZipFile, file: Path) -> tuple[dict[str, bytes], set[str]]:
    """Read the files of an archive except logs, after checking all names, the number of files and their sizes.

    Returns:
        The content of the files by name, and the names of the logs.
    """
    entries = archive.infolist()
    if len(entries) > MOST_FILES:
        raise RecordError(f"{file} contains {len(entries)} files, more than {MOST_FILES}")
    if sum(item.file_size for item in entries) > MOST_UNPACKED:
        raise RecordError(f"{file} unpacks to more than {MOST_UNPACKED >> 20} MiB")
    known = (MANIFEST, FACTS, SUBMISSIONS, GRADES, USAGE)
    names = [item.filename for item in entries]
    if strange := [name for name in names if name not in known and not _LOG.fullmatch(name)]:
        raise RecordError(f"{file} contains {strange[0][:_LONGEST_SETTING]!r}, which does not belong in a pack")
    if twice := [name for name in names if names.count(name) > 1]:
        raise RecordError(f"{file} contains {twice[0]} twice")
    if missing := [name for name in known if name not in names and name != USAGE]:
        raise RecordError(f"{file} contains no {missing[0]}")
    supported = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    if others := [item.filename for item in entries if item.compress_type not in supported]:
        raise RecordError(f"{file}: {others[0]}: unsupported compression method (expected deflate)")
    # With stored or deflate, zipfile never yields more than the declared size, so the limit above holds.
    return {name: archive.read(name) for name in names if name in known}, set(names) - set(known)


def _records(data: bytes, model: type[Stored], place: str) -> list[Stored]:
    lines = list(numbered_lines(data))
    if len(lines) > MOST_ANSWERS:
        raise RecordError(f"{place} contains {len(lines)} lines, more than {MOST_ANSWERS}")
    if long := [number for number, line in lines if len(line) > MAX_LINE_BYTES]:
        raise RecordError(f"{place}:{long[0]}: the line is longer than {MAX_LINE_BYTES} bytes")
    return [read_record(line, model, f"{place}:{number}") for number, line in lines]


def _distinct(answers: Iterable[Answer], place: str) -> set[Answer]:
    found: set[Answer] = set()
    for answer in answers:
        if answer in found:
            raise RecordError(f"{place}: {answer} is in the file twice; a pack has one line for each answer")
        found.add(answer)
    return found
