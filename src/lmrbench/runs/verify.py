"""The answers of a pack graded again: the run folder that they are graded in, and what was found.

`verification.json` says for which pack a run folder stands, and what differs from what was claimed. It is signed, as
grades are, so that only this installation's own word is taken for a verification.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from lmrbench.errors import RecordError, UsageError
from lmrbench.files import read_plain, write_whole
from lmrbench.grading.records import Result
from lmrbench.grading.signatures import signed, verified
from lmrbench.records import StoredRecord, read_record
from lmrbench.runs.folder import (
    FACTS,
    SUBMISSIONS,
    USAGE,
    Run,
    read_facts,
    read_submissions,
    write_facts,
    write_submissions,
)
from lmrbench.runs.pack import Pack

VERIFICATION = "verification.json"


class Verification(StoredRecord):
    """`verification.json` of a run folder: its answers came in a pack, and were graded again here.

    pack: SHA-256 of the file. lmrbench, suite, suite_digest, sandbox, seeds: what they were graded under here.
    fresh_seeds: the seeds were drawn for it, so that nobody could know them before. claimed_lmrbench,
    claimed_suite_digest: what the pack's own verdicts were made by. claimed_passed, passed: how many of the answers
    pass as was claimed, and as was found. differ: how many were claimed to be otherwise than they were found.
    """

    pack: str
    lmrbench: str
    suite: str
    suite_digest: str
    sandbox: str
    seeds: tuple[int, ...]
    fresh_seeds: bool
    claimed_lmrbench: str
    claimed_suite_digest: str
    answers: int
    claimed_passed: int
    passed: int
    differ: int


class Compared(NamedTuple):
    """An answer as it was claimed and as it was found to be."""

    found: Result
    claimed: bool


def begin(pack: Pack, folder: Path) -> None:
    """Write what a pack tells of its run into a new folder, to be graded there. A folder of the same pack is resumed.

    Raises UsageError for a folder of anything else.
    """
    if folder.is_dir() and any(folder.iterdir()):
        if (folder / VERIFICATION).exists():
            raise UsageError(f"{folder}: holds what was verified before; name another folder with --to")
        if not (folder / FACTS).exists() or not (folder / SUBMISSIONS).exists():
            raise UsageError(f"{folder}: is not empty; name another folder with --to")
        if read_submissions(folder) != list(pack.submissions):
            raise UsageError(f"{folder}: holds other answers than this pack; name another folder with --to")
        return
    # Seeds that a stranger names are never taken for drawn ones.
    told = {"seeds": (), "fresh_seeds": False, "blind": False, "fail_fast": False}
    write_facts(folder, pack.facts.model_copy(update=told))
    if pack.usages:
        lines = "".join(item.model_dump_json() + "\n" for item in pack.usages)
        write_whole(folder / USAGE, lines.encode())
    write_submissions(folder, pack.submissions)


def compared(pack: Pack, results: Sequence[Result]) -> list[Compared]:
    """Each answer beside what the pack claims of it."""
    claims = {item.answer: item.passed for item in pack.claims}
    return [Compared(item, claims[item.answer]) for item in results]


def end(pack: Pack, folder: Path, found: Sequence[Compared]) -> Verification:
    """Write down, signed, that a pack was graded again in a run folder, and what came of it."""
    facts = read_facts(folder)
    if facts is None:
        raise RecordError(f"{folder}: holds no {FACTS}")
    result = Verification(
        pack=pack.digest,
        lmrbench=facts.lmrbench,
        suite=facts.suite,
        suite_digest=facts.suite_digest,
        sandbox=facts.sandbox,
        seeds=facts.seeds,
        fresh_seeds=facts.fresh_seeds,
        claimed_lmrbench=pack.manifest.lmrbench,
        claimed_suite_digest=pack.manifest.suite_digest,
        answers=len(found),
        claimed_passed=sum(item.claimed for item in found),
        passed=sum(item.found.passed for item in found),
        differ=sum(item.claimed != item.found.passed for item in found),
    )
    write_whole(folder / VERIFICATION, signed(result.model_dump_json(indent=2)) + b"\n")
    return result


def read_verification(run: Run) -> Verification | None:
    """What is written of a run's being graded again; None unless this installation wrote it, and it still holds."""
    try:
        data = verified(read_plain(run.folder / VERIFICATION).rstrip())
    except FileNotFoundError:
        return None
    if data is None:
        return None
    found = read_record(data, Verification, str(run.folder / VERIFICATION))
    now = (run.facts.seeds if run.facts else (), len(run.grades), sum(item.passed for item in run.grades))
    return found if not run.unsigned and now == (found.seeds, found.answers, found.passed) else None
