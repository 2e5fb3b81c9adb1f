"""What an audit measured of one task, and what it would have to be.

A certificate names the digest of its task and `AUDITOR`, and is stale as soon as either changes. `certificate.json` in
a paper's folder holds those of its tasks, by name.
"""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from lmrbench.authoring.audit.leaks import Leak, Missing
from lmrbench.errors import RecordError
from lmrbench.files import write_whole
from lmrbench.records import Record, StoredRecord
from lmrbench.tasks.digests import audit_digest, runs_digest
from lmrbench.tasks.files import read_text_if_there
from lmrbench.tasks.model import Task, Tier

# Raise this number when the audit can find something other than before; all certificates are then stale.
AUDITOR = 1
MUTATION_SCORE = 0.95
LEAK_SHARE = 0.3
# How much of a repository a whole method is, at least.
METHOD_FUNCTIONS, METHOD_FILES, METHOD_LINES = 3, 2, 80
# What is right may take so much of the tolerance, so that no seed makes it fail.
RIGHT_MARGIN = 0.5


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
    """One rewrite, wrong version or cheat. margin: of its worst case; None if it differs in kind or doesn't run.

    closest: the case with this margin, for what must pass.
    """

    name: str
    passed: bool
    rejected_by: str
    margin: float | None
    closest: str = ""


class Survivor(Record):
    """A mutant that no case rejects. told_apart_by: a case that the check lacks, and what it shows, where known."""

    id: str
    operator: str
    diff: str
    told_apart_by: str = ""


class Mutation(Record):
    """mutants: all that count. indistinguishable and equivalent: those that don't, by fuzzing or by declaration.

    operators: how many of the mutants each of them made. refuted: declared equivalent, but some seed rejects them.
    """

    mutants: int
    rejected: int
    operators: dict[str, int]
    indistinguishable: int
    equivalent: int
    refuted: tuple[str, ...]
    survivors: tuple[Survivor, ...]
    per_second: float

    @property
    def score(self) -> float:
        """The share of mutants that are rejected."""
        return self.rejected / self.mutants if self.mutants else 1.0


class Visible(Record):
    """What decides what the check of a whole method asks for?

    functions, files, lines: how much is masked. results_hold: whether the logged results are the golden's. rejected:
    the mutants of one expression that the check rejects; shown: those that change the logged results, too; decided:
    of the others, those that break a sentence that a solver reads. undecided: the rest.
    """

    functions: int
    files: int
    lines: int
    results_hold: bool
    rejected: int
    shown: int
    decided: int
    undecided: tuple[Survivor, ...]

    @property
    def shortfalls(self) -> tuple[str, ...]:
        """What keeps the task from shipping, in words."""
        found = []
        if self.functions < METHOD_FUNCTIONS or self.files < METHOD_FILES or self.lines < METHOD_LINES:
            found.append(
                f"{self.functions} functions of {self.lines} lines in {self.files} files are masked, fewer than "
                f"{METHOD_FUNCTIONS}, {METHOD_LINES} or {METHOD_FILES}"
            )
        if not self.results_hold:
            found.append("the logged results are not the golden's; `lmrbench task results` writes them")
        if self.undecided:
            found.append(f"{len(self.undecided)} mutants are rejected that neither results nor a sentence decide")
        return tuple(found)


class Cost(Record):
    """Of one run of the golden's check."""

    cases: int
    seconds: float
    peak_mb: float
    output_bytes: int


class Certificate(StoredRecord):
    """Everything that the audit of one task measured. sandbox: the back end that it ran in.

    A twin needs no rewrites, and its wrong versions are what is right for its original. behavioural: of the tasks of
    the headline alone. oracles, fixed_inputs: of `knowledge`; None if not measured yet. visible: of
    whole methods alone. runs: of `runs_digest`; empty where an older version wrote it.
    """

    task: str
    digest: str
    auditor: int
    seeds: int
    sandbox: str
    golden: GoldenRuns
    mask_rejected: bool
    rewrites: tuple[Variant, ...]
    wrong: tuple[Variant, ...]
    cheats: tuple[Variant, ...]
    mutation: Mutation
    behavioural: Mutation | None
    leak: Leak
    missing: Missing
    proposed_tolerance_factor: float | None
    cost: Cost
    oracles: tuple[str, ...] | None = None
    fixed_inputs: float | None = None
    tier: Tier = "function"
    visible: Visible | None = None
    runs: str = ""

    @property
    def survivors(self) -> tuple[Survivor, ...]:
        """The mutants of both kinds that no case rejects."""
        return (*self.mutation.survivors, *(self.behavioural.survivors if self.behavioural else ()))

    @property
    def shortfalls(self) -> tuple[str, ...]:
        """What keeps the task from shipping, in words; empty for a good task."""
        found = []
        if self.golden.flakes:
            found.append(f"the golden differs from itself in {self.golden.flakes} of {self.golden.cases} cases")
        if not self.mask_rejected:
            found.append("the mask passes")
        found += [f"the rewrite {item.name} fails in {item.rejected_by}" for item in self.rewrites if not item.passed]
        found += [
            f"the rewrite {item.name} takes {item.margin:.2f} of the tolerance in {item.closest}"
            for item in self.rewrites
            if item.passed and item.margin is not None and item.margin > RIGHT_MARGIN
        ]
        found += [f"the wrong version {item.name} passes" for item in self.wrong if item.passed]
        found += [f"the cheat that {item.name} passes" for item in self.cheats if item.passed]
        found += [f"the check is an oracle: {name} gives the target's result" for name in self.oracles or ()]
        if self.tier != "twin" and len(self.rewrites) < 3:
            found.append(f"{len(self.rewrites)} rewrites, fewer than 3")
        if self.tier != "twin" and len(self.wrong) < 8:
            found.append(f"{len(self.wrong)} wrong versions, fewer than 8")
        if self.mutation.score < MUTATION_SCORE:
            found.append(f"mutation score {self.mutation.score:.3f}, below {MUTATION_SCORE}")
        if self.behavioural is not None and self.behavioural.score < MUTATION_SCORE:
            found.append(f"behavioural score {self.behavioural.score:.3f}, below {MUTATION_SCORE}")
        refuted = (*self.mutation.refuted, *(self.behavioural.refuted if self.behavioural is not None else ()))
        found += [f"the mutant {name} is declared equivalent and is not" for name in refuted]
        if self.leak.share > LEAK_SHARE:
            found.append(f"{self.leak.place} holds {self.leak.share:.0%} of the answer, more than {LEAK_SHARE:.0%}")
        if self.missing.literals:
            found.append(f"nothing states the constant {self.missing.literals[0]}")
        return (*found, *(self.visible.shortfalls if self.visible else ()))


def certificate_file(task: Task) -> Path:
    """Where the certificates of a paper's tasks lie."""
    return task.folder / "certificate.json"


def read_certificate(task: Task) -> Certificate | None:
    """The certificate of a task if there is one that holds for it as it is now."""
    certificate = _stored(task)
    return certificate if certificate is not None and certificate.digest == audit_digest(task) else None


def read_runs(task: Task) -> Certificate | None:
    """The certificate of a task if what was run for it would run the same now, whatever a solver is told by now."""
    certificate = _stored(task)
    return certificate if certificate is not None and certificate.runs == runs_digest(task) else None


def _stored(task: Task) -> Certificate | None:
    """The certificate of a task that an auditor of this number has written."""
    entry = _read(task).get(task.name)
    if entry is None:
        return None
    try:
        certificate = Certificate.model_validate_json(json.dumps(entry))
    except ValidationError:
        # Written by another version of the audit: as good as none.
        return None
    return certificate if certificate.auditor == AUDITOR else None


def why_none(task: Task) -> str:
    """Why `read_certificate` gives none."""
    entry = _read(task).get(task.name)
    if not isinstance(entry, dict):
        return "has not been audited yet"
    if entry.get("digest") != audit_digest(task):
        return "has changed since its audit"
    if entry.get("auditor") != AUDITOR:
        return f"was not made by auditor {AUDITOR}"
    return "has a certificate that another version wrote"


def write_certificate(task: Task, certificate: Certificate) -> None:
    """Write or replace the certificate of one task; those of the paper's other tasks stay."""
    entries = {**_read(task), task.name: certificate.model_dump(mode="json")}
    write_whole(certificate_file(task), (json.dumps(dict(sorted(entries.items())), indent=1) + "\n").encode())


def _read(task: Task) -> dict[str, object]:
    file = certificate_file(task)
    try:
        entries = json.loads(read_text_if_there(file, task.folder.parent) or "{}")
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{file}: is not JSON: {error}") from error
    if not isinstance(entries, dict):
        raise RecordError(f"{file}: not a table of certificates")
    return entries
