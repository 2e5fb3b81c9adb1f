"""Certificates: the results of the audit of a task, and the thresholds that a task must meet.

A certificate records the audit digest of its task (a hash of everything that an audit reads) and `AUDITOR`. It is stale
when either has changed. The file `certificate.json` in a paper's folder contains the certificates of the paper's tasks,
by task name.

An audit runs a task's check on the reference implementation, which is called the golden, and on variants of it:

- rewrites, other correct implementations; the rewrite `plain` need only pass the ordinary cases;
- wrong versions, which contain a plausible mistake; some of them fail only in edge cases;
- expression mutants, which contain a generated mistake in one expression;
- behavioural mutants, which contain a generated mistake that matters only for some inputs;
- cheats, answers that need no understanding of the task.
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

# Increase this number when a change of the code may change the results of audits. All certificates then become stale.
AUDITOR = 2
# The smallest share of the mutants of one kind that a check must reject.
MUTATION_SCORE = 0.95
# The largest share of an answer that a file of a workspace may contain.
LEAK_SHARE = 0.3
# The smallest numbers of functions, files and lines that a task of the method tier must mask.
METHOD_FUNCTIONS, METHOD_FILES, METHOD_LINES = 3, 2, 80
# The largest share of the tolerance that a rewrite may use, so that it passes under every seed.
RIGHT_MARGIN = 0.5
# The largest share of a time limit that a rewrite may use.
RIGHT_SECONDS = 1 / 3
# The processor seconds that one run of a check should take at most, so that grading and audits stay cheap.
CHECK_SECONDS: Mapping[Tier, float] = {"function": 0.6, "twin": 0.6, "method": 1.5}


class GoldenRuns(Record):
    """The results of repeated runs of the golden.

    A margin is a difference divided by the tolerance. A difference that no tolerance allows, such as another shape, has
    no margin.

    Attributes:
        runs: The number of runs.
        cases: The number of cases in all runs.
        flakes: The number of cases whose result differs from that of the first run by more than the tolerance.
        worst_margin: The largest margin; None if the difference in a case has no margin.
        rounding_margin: The largest margin when the golden runs in double instead of single precision, over the cases
            for which this is possible; None if it was not measured.
    """

    runs: int
    cases: int
    flakes: int
    worst_margin: float | None
    rounding_margin: float | None


class Variant(Record):
    """The result for one rewrite, wrong version or cheat.

    Attributes:
        name: The name of the variant.
        passed: Whether all cases accept it. A rewrite must be accepted under every seed under which it ran; for other
            variants, one seed is enough.
        correct: Whether all ordinary cases accept it, under every seed or under one, as for `passed`.
        rejected_by: The first case that rejects it; empty if none does.
        margin: The largest margin over its cases. For a rewrite, this is the maximum over all seeds; for other
            variants, the minimum over the seeds. None if a difference has no margin, or if the variant does not run.
        closest: The case in which a rewrite has its largest margin.
        fails: The cases that reject a rewrite under at least one seed.
        edge: Whether a wrong version breaks only edge cases.
        seconds: The largest share of a time limit that a rewrite uses; None if it was not measured.
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
        """Read a variant that was stored before edge cases were introduced."""
        return {"correct": values.get("passed"), **values}


class Survivor(Record):
    """A mutant that no case rejects.

    Attributes:
        id: The id of the mutant.
        operator: The name of the operator that made it.
        diff: Its difference from the golden.
        told_apart_by: An input that distinguishes the mutant from the golden but is not among the check's cases, and
            the difference; empty if none is known.
    """

    id: str
    operator: str
    diff: str
    told_apart_by: str = ""


class Mutation(Record):
    """The results for the mutants of one kind: the number of mutants, and how many of them the check rejects.

    Attributes:
        mutants: The number of mutants that count.
        rejected: The number of counted mutants that the check rejects.
        by_ordinary: The number of counted mutants that ordinary cases alone reject; None if it was not measured.
        operators: The number of counted mutants that each operator made.
        indistinguishable: The number of mutants that do not count because fuzzing shows no difference.
        equivalent: The number of mutants that do not count because the author declares them equivalent.
        refuted: The ids of the mutants that are declared equivalent although the check rejects them under some seed.
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


# The places where a solver reads a sentence: the paper's summary, the instruction, or a docstring.
Place = Literal["paper", "text", "code"]


class Visible(Record):
    """The evidence that a solver of a method-tier task can find out everything that its check requires.

    A task of this tier masks all functions that implement a method, and gives the solver the logged results of an
    experiment. Each mutant that the check rejects must change these results or violate a sentence in the task's texts.

    Attributes:
        functions: The number of masked functions.
        files: The number of files that contain them.
        lines: The total number of lines of these functions.
        results_hold: Whether the golden reproduces the logged results.
        rejected: The number of expression mutants that the check rejects.
        shown: The number of rejected mutants that change the logged results.
        decided: The number of rejected mutants that do not change the results, but violate a sentence that a solver
            reads.
        undecided: The rejected mutants that do neither.
        sentences: The sentences that rejected mutants violate, by the place where a solver reads them.
        only_logs: The facts that only the logged results reveal.
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
                f"too little is masked (functions: {self.functions}, lines: {self.lines}, files: {self.files}); the "
                f"minimum is {METHOD_FUNCTIONS} functions, {METHOD_LINES} lines and {METHOD_FILES} files"
            )
        if not self.results_hold:
            found.append(
                "the golden does not reproduce the logged results; run `lmrbench task results` to write them again"
            )
        if self.undecided:
            found.append(
                "number of rejected mutants that neither change the logged results nor violate a sentence of the "
                f"task's texts: {len(self.undecided)}"
            )
        return tuple(found)


class CheckCost(Record):
    """The cost of one run of the check with the golden.

    Attributes:
        cases: The number of cases.
        edge: The number of edge cases among them.
        seconds: The processor time, in seconds.
        peak_mb: The peak memory of any process, in megabytes.
        output_bytes: The size of all observations, in bytes.
    """

    cases: int
    seconds: float
    peak_mb: float
    output_bytes: int
    edge: int = 0


class Certificate(StoredRecord):
    """Everything that the audit of one task measured.

    A twin (a task made from another one by altering a detail of its paper) needs no rewrites. Its wrong versions are
    correct code for the original task.

    Attributes:
        task: The id of the task.
        digest: The audit digest of the task.
        auditor: The value of `AUDITOR` at the time of the audit.
        seeds: The number of seeds. Rewrites other than `plain` run under at most 25 of them.
        sandbox: The name of the sandbox back end.
        golden: The results of repeated runs of the golden.
        mask_rejected: Whether an ordinary case rejects the masked repository.
        rewrites: The results for the rewrites.
        wrong: The results for the wrong versions.
        cheats: The results for the cheats.
        mutation: The results for the expression mutants.
        behavioural: The results for the behavioural mutants; None except in the function tier.
        leak: The largest share of the answer in a single file of the workspace.
        missing: Literals and names that the golden uses, but that are not in the workspace.
        proposed_tolerance_factor: The factor by which to multiply the tolerance so that it separates correct from wrong
            code best; None if no factor is proposed.
        cost: The cost of the check.
        oracles: The names of variables of the check that contain a target's result, and of functions of the check that
            return it; None if not measured.
        fixed_inputs: The share of cases that have the same observation under another seed or that an empty answer
            passes; None if not measured.
        tier: The tier of the task.
        visible: The evidence that a solver can find out everything that the check requires; None except in the method
            tier.
        runs: The `runs_digest` of the task, a hash of everything that an audit reads except the texts for solvers;
            empty if an older version of lmrbench wrote the certificate.
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
            found.append(f"repeated runs of the golden differ in {self.golden.flakes} of {self.golden.cases} cases")
        if not self.mask_rejected:
            found.append("the check accepts the masked repository")
        for item in self.rewrites:
            if not (item.correct if item.name == PLAIN else item.passed):
                found.append(f"the rewrite {item.name} fails in {item.rejected_by}")
            elif item.passed and item.margin is not None and item.margin > RIGHT_MARGIN:
                found.append(f"the rewrite {item.name} uses {item.margin:.2f} of the tolerance in {item.closest}")
            if item.seconds is not None and item.seconds > RIGHT_SECONDS:
                found.append(f"the rewrite {item.name} uses {item.seconds:.2f} of a time limit")
        found += [f"the check accepts the wrong version {item.name}" for item in self.wrong if item.passed]
        found += [
            f"all ordinary cases accept the wrong version {item.name}, which is not marked as breaking only edge cases"
            for item in self.wrong
            if item.correct and not item.passed and not item.edge
        ]
        found += [f"the check accepts the cheat that {item.name}" for item in self.cheats if item.correct]
        found += [f"the check contains an oracle: {name} gives the target's result" for name in self.oracles or ()]
        if self.tier != "twin" and len(self.rewrites) < 3:
            found.append(f"too few rewrites: {len(self.rewrites)}; the minimum is 3")
        if self.tier != "twin" and all(item.name != PLAIN for item in self.rewrites):
            found.append(f"no rewrite is named {PLAIN}")
        if self.tier != "twin" and len(self.wrong) < 8:
            found.append(f"too few wrong versions: {len(self.wrong)}; the minimum is 8")
        if self.mutation.score < MUTATION_SCORE:
            found.append(f"mutation score {self.mutation.score:.3f}, below {MUTATION_SCORE}")
        if self.behavioural is not None and self.behavioural.score < MUTATION_SCORE:
            found.append(f"rejected share of behavioural mutants: {self.behavioural.score:.3f}, below {MUTATION_SCORE}")
        refuted = (*self.mutation.refuted, *(self.behavioural.refuted if self.behavioural is not None else ()))
        found += [f"the mutant {name} is declared equivalent, but the check rejects it" for name in refuted]
        if self.leak.share > LEAK_SHARE:
            found.append(f"{self.leak.place} contains {self.leak.share:.0%} of the answer, more than {LEAK_SHARE:.0%}")
        if self.missing.literals:
            found.append(f"no text in the workspace states the constant {self.missing.literals[0]}")
        return (*found, *(self.visible.shortfalls if self.visible else ()))


def certificate_file(task: Task) -> Path:
    """Return the path of the file with the certificates of a paper's tasks."""
    return task.folder / "certificate.json"


def read_certificate(task: Task) -> Certificate | None:
    """Return the certificate of a task, or None if there is none or it is stale."""
    certificate = _stored(task)
    return certificate if certificate is not None and certificate.digest == audit_digest(task) else None


def read_runs(task: Task) -> Certificate | None:
    """Return the certificate of a task if an audit would still run exactly the same code, otherwise None.

    A certificate that is stale only because texts for solvers have changed is returned.
    """
    certificate = _stored(task)
    return certificate if certificate is not None and certificate.runs == runs_digest(task) else None


def _stored(task: Task) -> Certificate | None:
    """Return the stored certificate of a task, or None if this version of the auditor has not written one."""
    entry = _read(task).get(task.name)
    if entry is None:
        return None
    try:
        certificate = Certificate.model_validate_json(json.dumps(entry))
    except ValidationError:
        # The certificate was written by another version of the audit.
        return None
    return certificate if certificate.auditor == AUDITOR else None


def why_none(task: Task) -> str:
    """Return the reason why `read_certificate` returns None, as the predicate of a sentence about the task."""
    entry = _read(task).get(task.name)
    if not isinstance(entry, dict):
        return "has not been audited yet"
    if entry.get("digest") != audit_digest(task):
        return "has changed since its audit"
    if entry.get("auditor") != AUDITOR:
        return f"was not audited by version {AUDITOR} of the auditor"
    return "has a certificate from another version of lmrbench"


def write_certificate(task: Task, certificate: Certificate) -> None:
    """Store the certificate of a task, and keep the certificates of the paper's other tasks."""
    entries = {**_read(task), task.name: certificate.model_dump(mode="json")}
    write_whole(certificate_file(task), (json.dumps(dict(sorted(entries.items())), indent=1) + "\n").encode())


def _read(task: Task) -> dict[str, object]:
    file = certificate_file(task)
    try:
        entries = json.loads(read_text_if_there(file, task.folder.parent) or "{}")
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{file} is not valid JSON: {error}; audit the paper's tasks again") from error
    if not isinstance(entries, dict):
        raise RecordError(f"{file} is not a JSON object of certificates by task; audit the paper's tasks again")
    return entries
