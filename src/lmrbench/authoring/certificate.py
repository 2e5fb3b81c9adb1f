"""What an audit measured of one task, and what it would have to be.

A certificate holds for one task and for one auditor: it is stale as soon as either changes. `certificate.json` in a
paper's folder holds those of its tasks, by name.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
from importlib import resources
from pathlib import Path

from pydantic import ValidationError

from lmrbench.authoring.leaks import Leak, Missing
from lmrbench.errors import RecordError
from lmrbench.records import Record, StoredRecord
from lmrbench.storage import write_whole
from lmrbench.tasks.digests import audit_digest, runs_digest
from lmrbench.tasks.model import Task, Tier

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
            found.append("the logged results are not the golden's; `lmrbench results` writes them")
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
    the headline alone. visible: of whole methods alone. runs: of `runs_digest`; empty where an older version wrote it.
    """

    task: str
    digest: str
    auditor: str
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


@functools.cache
def auditor_digest(tier: Tier = "function") -> str:
    """SHA-256 over what the modules that audit do: comments, docstrings and imports don't count."""
    package = resources.files("lmrbench")
    modules = (*_AUDITOR, *(() if tier == "function" else _AUDITOR_OF_TIERS))
    code = [_essence(ast.parse((package / name).read_bytes())) for name in modules]
    return hashlib.sha256(json.dumps(code).encode()).hexdigest()


_AUDITOR = (
    *(f"authoring/{name}.py" for name in ("audit", "laboratory", "mutation", "fuzzing", "cheats", "leaks")),
    *(f"authoring/{name}.py" for name in ("mutants", "expressions", "numerics", "behaviours")),
    *(f"authoring/inside/{name}.py" for name in ("wrappers", "recordings", "widening")),
    "grading/compare.py",
    "grading/nearest.py",
)
# Auditors before this one that find the same: their digests, and how this one differs. A certificate of theirs holds.
_SAME_FINDINGS = {
    "4c17a34b54f4e2a5c1545e0a76ea1892418bd82183b3d2429f6c9f5971d29e0f": "single floats are compared without arrays",
    "9aa5834769657f8fc33d053b56bcf466f76f7d4a04425e2851da5bbdf08b880c": "the same, of methods and twins",
    "fc7e1fa6ea43c789e3dcf639e13b2e056982dafe2b8d5706cbb7a22fe83c6a55": "the golden's runs with two threads and in "
    "double precision, which a process of their own makes, share workers with its others",
    "86f3f06f2389f813b9233203d5d459a7ae0597aab63afbf9c32e113cc3a1a848": "the same, of methods and twins",
    "95ddee15a1fff3aac01cbcd3906c9fccf1fe09d175027eeecd7d5c404d01a230": "jobs name the environment that a "
    "paper's packages come from, and papers that name no requirements have none",
    "5f0056777db6edcd808c114865920798bcacc14d95d4248471d94d4a84695dd5": "the same, of methods and twins",
    "a18343c2015a6a75b9a0248a3c70ffbb6ab1da0a2a7877771c5fce372bdd8c4e": "leaks are looked up in an index; "
    "of places that tell equally much the first is named",
    "60eca64e0c7818c7e8611cc62dd24603e7ebdaedfecd827aa84c3ad4caca1847": "the same, of methods and twins",
    "3bdc0d55c896ff7d69d45b61e2535cc0df6235cd6e2e59ad9a606d1eec6bb66a": "of methods, what runs out of time is tried "
    "again, so that a busy machine finds what a quiet one does",
    "cee618856962f732c210aa0a2eab7aaf234336e59bd612571eafdcbdbc02ba5b": "words of messages and patterns that name axes "
    "are no literals that have to be stated, so that only red certificates could change",
    "068d4002c4a848ec0375b76f2b9028465c629ed101e2816d671580de3d06c76b": "the same, of methods and twins",
    "1b6a5874ee7f7980cfb4b606c60308403b49d81ee36865075e5cf55bb6a1bfa7": "leaks between papers, which are part of no "
    "certificate, leave out what chance explains",
    "f863df856bbe5ca24d3db55c459a2018d417c0990daac0b624402b2b95ea37d5": "the same, of methods and twins",
    "bcf81b58a9174f519a07db099b8f9a4bfb928a2641e1ed3c316fa89feb5852b3": "docstrings of functions within are no "
    "literals that have to be stated, so that only red certificates could change",
    "dfccd7c29c579867929069dca1d4a8877dc768098301f87b7e02316e1a3f064a": "the same, of methods and twins",
    "4c2c5c54d90f27986f9df32ee368fe06c9f09c05d9b81daf057f2d9b975b7370": "a mutant's run ends where its fate is settled",
    "23ae98cccf3bfc0d74cfe8671c31a7e65c29183867c37a12dc02dc5d4967851c": "the same, of methods and twins",
}
_AUDITOR_OF_TIERS = ("authoring/tier_audit.py", "authoring/visibility.py")


def _holds(auditor: object, task: Task) -> bool:
    return auditor == auditor_digest(task.tier) or auditor in _SAME_FINDINGS


def _essence(node: object) -> object:
    """A syntax tree as lists, the same under every version of Python."""
    if isinstance(node, list):
        kept = [item for item in node if not isinstance(item, ast.Import | ast.ImportFrom) and not _is_text(item)]
        return [_essence(item) for item in kept]
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = [[name, _essence(value)] for name, value in ast.iter_fields(node) if value not in (None, [])]
    return [type(node).__name__, *fields]


def _is_text(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


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
    """The certificate of a task that this auditor, or one which finds the same, has written."""
    entry = _read(certificate_file(task)).get(task.name)
    if entry is None:
        return None
    try:
        certificate = Certificate.model_validate_json(json.dumps(entry))
    except ValidationError:
        # Written by another version of the audit: as good as none.
        return None
    return certificate if _holds(certificate.auditor, task) else None


def why_none(task: Task) -> str:
    """Why `read_certificate` gives none."""
    entry = _read(certificate_file(task)).get(task.name)
    if not isinstance(entry, dict):
        return "has not been audited yet"
    if entry.get("digest") != audit_digest(task):
        return "has changed since its audit"
    if not _holds(entry.get("auditor"), task):
        return "was audited by other code than this"
    return "has a certificate that another version wrote"


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
