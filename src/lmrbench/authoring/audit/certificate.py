"""Certificates: what an audit measured of a task, and the thresholds that a task has to meet.

A certificate names the digest of its task and `AUDITOR`, and becomes stale when either changes. `certificate.json` in
a paper's folder holds the certificates of the paper's tasks, by name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import ValidationError, model_validator

from lmrbench.authoring.audit.leaks import Leak, Missing
from lmrbench.errors import RecordError
from lmrbench.files import write_whole
from lmrbench.grading.systems import PLAIN
from lmrbench.records import Record, StoredRecord
from lmrbench.tasks.digests import audit_digest, runs_digest
from lmrbench.tasks.files import read_text_if_there
from lmrbench.tasks.model import Task, Tier

# Raise this number when the findings of an audit can change. All certificates become stale.
AUDITOR = 2
MUTATION_SCORE = 0.95
LEAK_SHARE = 0.3
# The minimum size of a method.
METHOD_FUNCTIONS, METHOD_FILES, METHOD_LINES = 3, 2, 80
# The largest share of the tolerance that a rewrite may use, so that it passes under every seed.
RIGHT_MARGIN = 0.5
# The largest share of a time limit that a rewrite may need.
RIGHT_SECONDS = 1 / 3
# The processor seconds that one run of a check should take at most, so that grading and audits stay cheap.
CHECK_SECONDS: Mapping[Tier, float] = {"function": 0.6, "twin": 0.6, "method": 1.5}


class GoldenRuns(Record):
    """Repeated runs of the golden. A margin is a difference as a multiple of the tolerance.

    Attributes:
        runs: The number of runs.
        cases: The number of cases in all runs.
        flakes: The number of cases that differ from the first run.
        worst_margin: The largest margin; None if a case differs in kind.
        rounding_margin: The largest margin when single precision is replaced by double, over the cases in which that
            is possible.
    """

    runs: int
    cases: int
    flakes: int
    worst_margin: float | None
    rounding_margin: float | None


class Variant(Record):
    """One rewrite, wrong version or cheat.

    Attributes:
        name: Its name.
        passed: Whether all cases accept it: for a rewrite under every seed that it ran under, for anything else under
            any seed.
        correct: The same for the ordinary cases alone.
        rejected_by: The first case that rejects it; empty if none does.
        margin: The margin of its worst case (for a wrong version or cheat, under the seed where that is smallest);
            None if it differs in kind or does not run.
        closest: The case with the largest margin of a rewrite.
        fails: The cases that reject a rewrite under some seed.
        edge: Whether a wrong version breaks only edge cases.
        seconds: The largest part of a time limit that a rewrite needs; None if it was not measured.
    """

    name: str
    passed: bool
    correct: bool
    rejected_by: str
    margin: float | None
    closest: str = ""
    fails: tuple[str, ...] = ()
    edge: bool = False
    seconds: float | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_edge_cases(cls, values: dict[str, object]) -> dict[str, object]:
        """Read what was written before there were edge cases."""
        return {"correct": values.get("passed"), **values}


class Survivor(Record):
    """A mutant that no case rejects.

    Attributes:
        id: The id of the mutant.
        operator: The name of the operator that made it.
        diff: Its difference from the golden.
        told_apart_by: A case that the check lacks and that distinguishes the mutant, with the difference, if known.
    """

    id: str
    operator: str
    diff: str
    told_apart_by: str = ""


class Mutation(Record):
    """The mutants of one kind, and how many of them the check rejects.

    Attributes:
        mutants: The number of mutants that count.
        rejected: How many of these the check rejects.
        by_ordinary: How many of these its ordinary cases reject; None if it was not measured.
        operators: How many of these each operator made.
        indistinguishable: The number of mutants that do not count because fuzzing shows no difference.
        equivalent: The number of mutants that do not count because the author declares them equivalent.
        refuted: The ids of those that are declared equivalent although some seed rejects them.
        survivors: The mutants that no case rejects.
        per_second: The number of mutants tried per second.
    """

    mutants: int
    rejected: int
    operators: dict[str, int]
    indistinguishable: int
    equivalent: int
    refuted: tuple[str, ...]
    survivors: tuple[Survivor, ...]
    per_second: float
    by_ordinary: int | None = None

    @property
    def score(self) -> float:
        """The share of the mutants that the check rejects."""
        return self.rejected / self.mutants if self.mutants else 1.0

    @property
    def ordinary_score(self) -> float:
        """The share of the mutants that ordinary cases reject."""
        by_ordinary = self.rejected if self.by_ordinary is None else self.by_ordinary
        return by_ordinary / self.mutants if self.mutants else 1.0


# Where a solver reads a sentence: in the paper's summary, in the instruction, or in a docstring.
Place = Literal["paper", "text", "code"]


class Visible(Record):
    """Whether a solver can know what the check of a method asks for.

    Attributes:
        functions: The number of masked functions.
        files: The number of files that they are in.
        lines: The number of their lines.
        results_hold: Whether the golden reproduces the logged results.
        rejected: The number of mutants of one expression that the check rejects.
        shown: How many of these change the logged results.
        decided: How many of the others violate a sentence that a solver reads.
        undecided: The rest.
        sentences: The sentences that decide mutants, by where a solver reads them.
        only_logs: What only the logged results tell.
    """

    functions: int
    files: int
    lines: int
    results_hold: bool
    rejected: int
    shown: int
    decided: int
    undecided: tuple[Survivor, ...]
    sentences: dict[Place, tuple[str, ...]]
    only_logs: tuple[str, ...]

    @property
    def shortfalls(self) -> tuple[str, ...]:
        """The reasons why the task cannot ship."""
        found = []
        if self.functions < METHOD_FUNCTIONS or self.files < METHOD_FILES or self.lines < METHOD_LINES:
            found.append(
                f"{self.functions} functions of {self.lines} lines in {self.files} files are masked, fewer than "
                f"{METHOD_FUNCTIONS}, {METHOD_LINES} or {METHOD_FILES}"
            )
        if not self.results_hold:
            found.append("the golden does not reproduce the logged results; `lmrbench task results` writes them")
        if self.undecided:
            found.append(f"{len(self.undecided)} rejected mutants are decided by neither the results nor a sentence")
        return tuple(found)


class CheckCost(Record):
    """The cost of one run of the check with the golden.

    Attributes:
        cases: The number of cases.
        edge: How many of them are edge cases.
        seconds: Processor seconds.
        peak_mb: The largest memory of a process, in megabytes.
        output_bytes: The bytes of all observations.
    """

    cases: int
    seconds: float
    peak_mb: float
    output_bytes: int
    edge: int = 0


class Certificate(StoredRecord):
    """Everything that the audit of one task measured.

    A twin needs no rewrites, and its wrong versions are correct code for its original.

    Attributes:
        task: The id of the task.
        digest: The audit digest of the task.
        auditor: `AUDITOR` at the time of the audit.
        seeds: The number of seeds. Rewrites other than `plain` run under at most 25 of them.
        sandbox: The name of the back end.
        golden: The repeated runs of the golden.
        mask_rejected: Whether an ordinary case rejects the masked repository.
        rewrites: The correct versions.
        wrong: The wrong versions.
        cheats: The answers that need no understanding of the task.
        mutation: The mutants of one expression.
        behavioural: The mutants of behaviour; only for the function tier.
        leak: The largest part of the answer in a single file of the workspace.
        missing: Literals and names that a solver is not told.
        proposed_tolerance_factor: A factor for the tolerance that separates correct from wrong code best.
        cost: The cost of the check.
        oracles: The names in the check that give the result away; None if not measured.
        fixed_inputs: The share of cases whose observation does not depend on the seed; None if not measured.
        tier: The tier of the task.
        visible: Whether a solver can know what the check asks for; only for methods.
        runs: The `runs_digest` of the task; empty if an older version wrote the certificate.
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
    cost: CheckCost
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
        """The reasons why the task cannot ship; empty for a good task."""
        found = []
        if self.golden.flakes:
            found.append(f"the golden differs from itself in {self.golden.flakes} of {self.golden.cases} cases")
        if not self.mask_rejected:
            found.append("the mask passes")
        for item in self.rewrites:
            if not (item.correct if item.name == PLAIN else item.passed):
                found.append(f"the rewrite {item.name} fails in {item.rejected_by}")
            elif item.passed and item.margin is not None and item.margin > RIGHT_MARGIN:
                found.append(f"the rewrite {item.name} uses {item.margin:.2f} of the tolerance in {item.closest}")
            if item.seconds is not None and item.seconds > RIGHT_SECONDS:
                found.append(f"the rewrite {item.name} needs {item.seconds:.2f} of a time limit")
        found += [f"the wrong version {item.name} is robust" for item in self.wrong if item.passed]
        found += [
            f"the wrong version {item.name} is correct, though it breaks more than edge cases"
            for item in self.wrong
            if item.correct and not item.passed and not item.edge
        ]
        found += [f"the cheat that {item.name} passes" for item in self.cheats if item.correct]
        found += [f"the check is an oracle: {name} gives the target's result" for name in self.oracles or ()]
        if self.tier != "twin" and len(self.rewrites) < 3:
            found.append(f"{len(self.rewrites)} rewrites, fewer than 3")
        if self.tier != "twin" and all(item.name != PLAIN for item in self.rewrites):
            found.append(f"no rewrite is named {PLAIN}")
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
    """Return the file with the certificates of a paper's tasks."""
    return task.folder / "certificate.json"


def read_certificate(task: Task) -> Certificate | None:
    """Return the certificate of a task, or None if there is none for the task as it is now."""
    certificate = _stored(task)
    return certificate if certificate is not None and certificate.digest == audit_digest(task) else None


def read_runs(task: Task) -> Certificate | None:
    """Return the certificate of a task, or None if the audit would run anything else now.

    A certificate that is stale only because the task's texts have changed is returned too.
    """
    certificate = _stored(task)
    return certificate if certificate is not None and certificate.runs == runs_digest(task) else None


def _stored(task: Task) -> Certificate | None:
    """Return the stored certificate of a task, or None if there is none by this version of the auditor."""
    entry = _read(task).get(task.name)
    if entry is None:
        return None
    try:
        certificate = Certificate.model_validate_json(json.dumps(entry))
    except ValidationError:
        # Another version of the audit has written it.
        return None
    return certificate if certificate.auditor == AUDITOR else None


def why_none(task: Task) -> str:
    """Return the reason why `read_certificate` returns None."""
    entry = _read(task).get(task.name)
    if not isinstance(entry, dict):
        return "has not been audited yet"
    if entry.get("digest") != audit_digest(task):
        return "has changed since its audit"
    if entry.get("auditor") != AUDITOR:
        return f"was not audited by auditor {AUDITOR}"
    return "has a certificate that another version wrote"


def write_certificate(task: Task, certificate: Certificate) -> None:
    """Write or replace the certificate of one task, and keep those of the paper's other tasks."""
    entries = {**_read(task), task.name: certificate.model_dump(mode="json")}
    write_whole(certificate_file(task), (json.dumps(dict(sorted(entries.items())), indent=1) + "\n").encode())


def _read(task: Task) -> dict[str, object]:
    file = certificate_file(task)
    try:
        entries = json.loads(read_text_if_there(file, task.folder.parent) or "{}")
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{file}: is not JSON: {error}; audit the paper's tasks again") from error
    if not isinstance(entries, dict):
        raise RecordError(f"{file}: is not an object of certificates; audit the paper's tasks again")
    return entries
