"""What an audit measured of one task, and what it would have to be.

A certificate holds for one audit digest of a task. `certificate.json` in a paper's folder holds those of its tasks, by
name.
"""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from lmrbench.authoring.leaks import Leak, Missing
from lmrbench.errors import RecordError
from lmrbench.storage import write_whole
from lmrbench.tasks.digests import audit_digest
from lmrbench.tasks.model import Record, Task

MUTATION_SCORE = 0.95
LEAK_SHARE = 0.3


class GoldenRuns(Record):
    """Repeated runs of the golden: how many cases, how many of them differed, and the worst margin to the tolerance.

    rounding_margin: the worst where single precision is replaced by double, over the cases in which that can be done.
    """

    runs: int
    cases: int
    flakes: int
    worst_margin: float | None
    rounding_margin: float | None


class Variant(Record):
    """One rewrite, wrong version or cheat. margin: of its worst case; None if it differs in kind or doesn't run."""

    name: str
    passed: bool
    rejected_by: str
    margin: float | None


class Survivor(Record):
    """A mutant that no case rejects."""

    id: str
    operator: str
    diff: str


class Mutation(Record):
    """mutants: without those that are declared equivalent. refuted: declared equivalent, but some seed rejects them."""

    mutants: int
    rejected: int
    equivalent: int
    refuted: tuple[str, ...]
    survivors: tuple[Survivor, ...]
    per_second: float

    @property
    def score(self) -> float:
        """The share of mutants that are rejected."""
        return self.rejected / self.mutants if self.mutants else 1.0


class Cost(Record):
    """Of one run of the golden's check."""

    cases: int
    seconds: float
    peak_mb: float
    output_bytes: int


class Certificate(Record):
    """Everything that the audit of one task measured."""

    task: str
    digest: str
    seeds: int
    golden: GoldenRuns
    mask_rejected: bool
    rewrites: tuple[Variant, ...]
    wrong: tuple[Variant, ...]
    cheats: tuple[Variant, ...]
    mutation: Mutation
    leak: Leak
    missing: Missing
    proposed_tolerance_factor: float | None
    cost: Cost

    @property
    def shortfalls(self) -> tuple[str, ...]:
        """What keeps the task from shipping, in words; empty for a good task."""
        found = []
        if self.golden.flakes:
            found.append(f"the golden differs from itself in {self.golden.flakes} of {self.golden.cases} cases")
        if not self.mask_rejected:
            found.append("the mask passes")
        found += [f"the rewrite {item.name} fails in {item.rejected_by}" for item in self.rewrites if not item.passed]
        found += [f"the wrong version {item.name} passes" for item in self.wrong if item.passed]
        found += [f"the cheat that {item.name} passes" for item in self.cheats if item.passed]
        if len(self.rewrites) < 3:
            found.append(f"{len(self.rewrites)} rewrites, fewer than 3")
        if len(self.wrong) < 8:
            found.append(f"{len(self.wrong)} wrong versions, fewer than 8")
        if self.mutation.score < MUTATION_SCORE:
            found.append(f"mutation score {self.mutation.score:.3f}, below {MUTATION_SCORE}")
        found += [f"the mutant {name} is declared equivalent and is not" for name in self.mutation.refuted]
        if self.leak.share > LEAK_SHARE:
            found.append(f"{self.leak.place} holds {self.leak.share:.0%} of the answer, more than {LEAK_SHARE:.0%}")
        if self.missing.literals:
            found.append(f"nothing states the constant {self.missing.literals[0]}")
        return tuple(found)


def certificate_file(task: Task) -> Path:
    """Where the certificates of a paper's tasks lie."""
    return task.folder / "certificate.json"


def read_certificate(task: Task) -> Certificate | None:
    """The certificate of a task if there is one that holds for it as it is now."""
    entry = _read(certificate_file(task)).get(task.name)
    if entry is None:
        return None
    try:
        certificate = Certificate.model_validate_json(json.dumps(entry))
    except ValidationError:
        # Written by another version of the audit: as good as none.
        return None
    return certificate if certificate.digest == audit_digest(task) else None


def write_certificate(task: Task, certificate: Certificate) -> None:
    """Write or replace the certificate of one task; those of the paper's other tasks stay."""
    file = certificate_file(task)
    entries = {**_read(file), task.name: certificate.model_dump(mode="json")}
    write_whole(file, (json.dumps(dict(sorted(entries.items())), indent=1) + "\n").encode())


def _read(file: Path) -> dict[str, object]:
    try:
        entries = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise RecordError(f"{file}: {error}") from error
    if not isinstance(entries, dict):
        raise RecordError(f"{file}: not a table of certificates")
    return entries
