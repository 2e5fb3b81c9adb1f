"""Verify a pack: grade its answers again in a new run folder, and compare the results with its claims.

`verification.json` in the run folder identifies the pack and counts the grades that differ from its claims. Like
grades, it is signed, so only verifications by this installation are accepted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from lmrbench.errors import RecordError, UsageError
from lmrbench.files import read_plain, write_whole
from lmrbench.grading.records import Result
from lmrbench.grading.signatures import signed, verified
from lmrbench.records import Migration, StoredRecord, read_record
from lmrbench.runs.folder import (
    FACTS,
    SUBMISSIONS,
    USAGE,
    Run,
    drawn_seeds,
    read_facts,
    read_submissions,
    require_known,
    write_facts,
    write_submissions,
)
from lmrbench.runs.pack import Claim, Pack
from lmrbench.runs.places import seeds_of
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Submission

VERIFICATION = "verification.json"


def _without_edge_cases(result: dict[str, Any]) -> dict[str, Any]:
    """Count the passing answers of schema 3 and earlier, which had no edge cases, as both correct and robust."""
    names = {"passed": ("correct", "robust"), "claimed_passed": ("claimed_correct", "claimed_robust")}
    return {new: value for key, value in result.items() for new in names.get(key, (key,))}


class Verification(StoredRecord):
    """`verification.json`: the result of grading the answers of a pack again.

    Attributes:
        pack: The SHA-256 of the pack.
        lmrbench: The version of lmrbench that verified the pack.
        suite: The name and version of the suite that was used for the verification.
        suite_digest: The digest of that suite.
        sandbox: The sandbox back end that was used for the verification.
        seeds: The seeds that were used for the verification.
        fresh_seeds: Whether the seeds were drawn for this verification, so that the submitter could not know them.
        claimed_lmrbench: The version of lmrbench that made the pack's grades.
        claimed_suite_digest: The digest of the suite that the pack's grades were made with.
        answers: The number of answers.
        claimed_correct: The number of answers that are correct according to the pack.
        claimed_robust: The number of answers that are robust according to the pack.
        correct: The number of answers that are correct according to the verification.
        robust: The number of answers that are robust according to the verification.
        differ: The number of answers whose claimed and verified grades differ.
    """

    migrations: ClassVar[Mapping[int, Migration]] = {3: _without_edge_cases}

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
    claimed_correct: int
    claimed_robust: int
    correct: int
    robust: int
    differ: int


class VerifiedClaim(NamedTuple):
    """The verified and the claimed grade of one answer."""

    found: Result
    claimed: Claim

    @property
    def differs(self) -> bool:
        """Whether the verified grade differs from the claimed one."""
        return (self.found.correct, self.found.robust) != (self.claimed.correct, self.claimed.robust)


def require_gradable(file: Path, submissions: Sequence[Submission], tasks: Mapping[str, Task]) -> None:
    """Check that every answer of a pack can be graded.

    Args:
        file: The file of the pack, named in the error.
        submissions: The answers of the pack.
        tasks: The tasks of the suite by id.

    Raises:
        RecordError: An answer belongs to no task of the suite, or to a task without a check.
    """
    require_known(file, submissions, tasks)
    if unchecked := [item.task for item in submissions if not tasks[item.task].files.check]:
        raise RecordError(f"{file}: {unchecked[0]} has no check and can't be graded")


def seeds_to_verify(folder: Path, seed: int | None) -> tuple[int, ...]:
    """Return `seed` if given, or else the fresh seeds of an unfinished verification in `folder`, or else a new seed."""
    return seeds_of(folder, seed, (len(drawn_seeds(folder)) or 1) if seed is None else None)


def begin(pack: Pack, folder: Path) -> None:
    """Write the answers and the conditions of a pack into a run folder, in which they can then be graded.

    If the folder contains an unfinished verification of the same pack, nothing is written.

    Args:
        pack: The pack to verify.
        folder: The run folder; created if it does not exist.

    Raises:
        UsageError: The folder contains anything else, such as a finished verification.
    """
    if folder.is_dir() and any(folder.iterdir()):
        if (folder / VERIFICATION).exists():
            raise UsageError(f"{folder} contains a finished verification; choose another folder with --to")
        if not (folder / FACTS).exists() or not (folder / SUBMISSIONS).exists():
            raise UsageError(f"{folder} is not empty; choose another folder with --to")
        if read_submissions(folder) != list(pack.submissions):
            raise UsageError(
                f"{folder} contains answers that differ from those of this pack; choose another folder with --to"
            )
        return
    # The seeds in a pack come from the submitter and must not be mistaken for fresh ones.
    unset = {"seeds": (), "fresh_seeds": False, "blind": False, "fail_fast": False}
    write_facts(folder, pack.facts.model_copy(update=unset))
    if pack.usages:
        lines = "".join(item.model_dump_json() + "\n" for item in pack.usages)
        write_whole(folder / USAGE, lines.encode())
    write_submissions(folder, pack.submissions)


def compare_claims(pack: Pack, results: Sequence[Result]) -> list[VerifiedClaim]:
    """Pair each verified result with the pack's claim about the same answer."""
    claims = {item.answer: item for item in pack.claims}
    return [VerifiedClaim(item, claims[item.answer]) for item in results]


def end(pack: Pack, folder: Path, found: Sequence[VerifiedClaim]) -> Verification:
    """Write the signed result of a verification into its run folder.

    Args:
        pack: The pack that was verified.
        folder: The run folder in which its answers were graded.
        found: The claimed and the verified result of each answer.

    Returns:
        The verification that was written.

    Raises:
        RecordError: The folder has no `run.json`.
    """
    facts = read_facts(folder)
    if facts is None:
        raise RecordError(f"{folder} contains no {FACTS}")
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
        claimed_correct=sum(item.claimed.correct for item in found),
        claimed_robust=sum(item.claimed.robust for item in found),
        correct=sum(item.found.correct for item in found),
        robust=sum(item.found.robust for item in found),
        differ=sum(item.differs for item in found),
    )
    write_whole(folder / VERIFICATION, signed(result.model_dump_json(indent=2)) + b"\n")
    return result


def read_verification(run: Run) -> Verification | None:
    """Read the verification of a run.

    Args:
        run: Any run, whether or not it was made from a pack.

    Returns:
        The verification, or None if there is none, if this installation did not sign it, or if the run's grades have
        changed since it was written.
    """
    try:
        data = verified(read_plain(run.folder / VERIFICATION).rstrip())
    except FileNotFoundError:
        return None
    if data is None:
        return None
    found = read_record(data, Verification, str(run.folder / VERIFICATION))
    counts = len(run.grades), sum(item.correct for item in run.grades), sum(item.robust for item in run.grades)
    now = (run.facts.seeds if run.facts else (), *counts)
    return found if not run.unsigned and now == (found.seeds, found.answers, found.correct, found.robust) else None
