"""Adversaries: models that try to get wrong code past a check that they never see.

An adversary sees everything that a solver sees, and also the reference (the golden). It writes wrong versions of a
task's targets, which are the masked functions. With each, it quotes the sentence of the instruction, the summary or a
docstring that the version violates and, if possible, gives an input that shows the difference. It also writes correct
("right") versions in other styles. All versions are graded like submissions. A task needs work if a wrong version
passes although some input distinguishes it from the golden, or if a right version fails.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from lmrbench.authoring.audit.fuzzing import told_apart
from lmrbench.authoring.audit.laboratory import Laboratory, Trial
from lmrbench.errors import RecordError, ServiceError, SubmissionError
from lmrbench.files import write_whole
from lmrbench.grading.compare import compare
from lmrbench.grading.reading import read_submission
from lmrbench.jsonl import append_line, read_lines
from lmrbench.records import Part, StoredRecord
from lmrbench.sandbox.inside.cases import encode_cases
from lmrbench.sandbox.inside.encoding import decode
from lmrbench.sandbox.protocol import Cases, Outcome, WorkerPool
from lmrbench.tasks.digests import audit_digest
from lmrbench.tasks.model import Name, Task
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.workspace import repository_files, workspace_files

Kind = Literal["wrong", "right"]
Ask = Callable[[str], str]
SEEDS = 3
_OWNER = "adversary"
_ROUNDS = 3
_SECTION = re.compile(r"^###[ \t]*(wrong|right)\b[^\n]*\n(.*?)(?=^###[ \t]*(?:wrong|right)\b|\Z)", re.M | re.S | re.I)
_BLOCK = re.compile(r"^```[^\n]*\n(.*?)^```", re.M | re.S)
_VIOLATES = re.compile(r"^violates:[ \t]*(.+?)[ \t]*$", re.M | re.I)
_PROBED = """
def observe(case):
    return probe()

"""


class Proposal(Part):
    """One version of a task's targets, written by an adversary.

    Attributes:
        kind: Whether the version is meant to be wrong or right.
        sentence: The sentence that a wrong version violates; empty if the adversary quotes none.
        code: The source code of the version.
        probe: The source code of a function `probe`, whose result differs between the golden and a wrong version; empty
            if the adversary wrote none.
    """

    kind: Kind
    sentence: str = ""
    code: str
    probe: str = ""


class Finding(StoredRecord):
    """The result of grading a proposal; a line of `adversaries.jsonl`.

    Attributes:
        task: The id of the task.
        digest: The audit digest of the task, a hash of everything that an audit reads.
        model: The model that wrote the proposal.
        number: The number of the proposal among the model's proposals for this task, counted from 0.
        proposal: The proposal that was graded.
        passed: Whether the check accepts it.
        rejected_by: The first case that rejects it, and the reason; empty if it passes.
        told_apart_by: If a wrong version passes, an input that distinguishes it from the golden, and the difference;
            empty if none was found.
    """

    task: str
    digest: str
    model: str
    number: int
    proposal: Proposal
    passed: bool
    rejected_by: str = ""
    told_apart_by: str = ""

    @property
    def amiss(self) -> bool:
        """Whether the finding shows that the task needs work."""
        return self.passed and bool(self.told_apart_by) if self.proposal.kind == "wrong" else not self.passed


def attack(laboratory: Laboratory, model: str, ask: Ask, wrong: int, right: int, file: Path) -> Iterator[Finding]:
    """Have a model write versions of a task's targets, and grade them.

    Findings that the file already contains for the same model and the same state of the task are reused. The model is
    asked for the other versions, at most `_ROUNDS` times.

    Args:
        laboratory: The laboratory that runs the task's check on changed code.
        model: The name of the model.
        ask: Sends a prompt to the model and returns its answer.
        wrong: The number of wrong versions to reach, including those already in the file.
        right: The number of right versions to reach, including those already in the file.
        file: The file to append findings to.

    Yields:
        Each finding, after it has been written to the file.
    """
    task = laboratory.task
    digest = audit_digest(task)
    earlier = [
        item for item in read_lines(file, Finding) if (item.task, item.digest, item.model) == (task.id, digest, model)
    ]
    yield from earlier
    known = [item.proposal for item in earlier]
    for _ in range(_ROUNDS):
        lacking = [max(0, count - sum(item.kind == kind for item in known)) for kind, count in _wanted(wrong, right)]
        if not any(lacking):
            return
        answer = ask(prompt(task, lacking[0], lacking[1], known))
        proposals = [item for item in proposals_in(answer) if item.code not in {other.code for other in known}]
        for item in proposals:
            finding = _tried(laboratory, item).model_copy(update={"model": model, "number": len(known)})
            append_line(file, finding)
            known.append(item)
            yield finding


def _wanted(wrong: int, right: int) -> tuple[tuple[Kind, int], tuple[Kind, int]]:
    return ("wrong", wrong), ("right", right)


def prompt(task: Task, wrong: int, right: int, known: Sequence[Proposal]) -> str:
    """Return the prompt for the model: a solver's workspace, the golden, and a request for versions.

    Args:
        task: The task to attack.
        wrong: The number of wrong versions to write.
        right: The number of right versions to write.
        known: Earlier proposals, which the model must not repeat.
    """
    golden = repository_files(task)
    shown = {**workspace_files(task, "full"), **{f"golden/{name}": golden[name] for name in task.goal_files}}
    files = "\n\n".join(f"## {name}\n\n{data.decode('utf-8', 'replace').rstrip()}" for name, data in shown.items())
    targets = ", ".join(f"`{target}`" for target in task.targets)
    before = "".join(f"\n- {item.kind}: {item.sentence or 'another style'}" for item in known)
    return _PROMPT.format(
        targets=targets,
        files=files,
        wrong=wrong,
        right=right,
        before=f"\n\nThe following versions exist already; write different ones:{before}" if before else "",
    )


_PROMPT = """You test the hidden tests of a programming task. You see everything that a solver sees, and the \
reference solution under golden/. The targets are {targets}.

{files}

# What to write

1. {wrong} wrong versions of the targets. Each looks plausible, like a careful programmer's mistake, and violates \
a sentence of the instruction, of paper.md, or of a docstring. Prefer mistakes that ordinary inputs do not reveal: \
mistakes with types of numbers, extreme magnitudes, empty or minimal inputs, memory layouts, ties, special values or \
NaN behind a mask; state kept between calls; settings read from the wrong place; arguments changed in place.
2. {right} right versions in styles as different from the reference and from each other as possible. They comply with \
every sentence.

Write each as a section of this form, and nothing else. The code is one block of Python. It contains \
all targets (a method inside its class) and the imports and helpers that they need. For a wrong version, add a \
function `probe()` that imports from the repository, calls a target with an input that shows the mistake, and returns \
plain data (numbers, strings, lists, dicts, tensors).

### wrong
Violates: the sentence, quoted
```python
the code
```
```python
def probe():
    ...
```

### right
```python
the code
```{before}
"""


def proposals_in(answer: str) -> list[Proposal]:
    """Return the versions that an answer contains, in order. Sections without code are skipped."""
    found = []
    for section in _SECTION.finditer(answer):
        kind: Kind = "wrong" if section.group(1).lower() == "wrong" else "right"
        blocks = _BLOCK.findall(section.group(2))
        sentence = _VIOLATES.search(section.group(2))
        if blocks:
            probe = blocks[1] if kind == "wrong" and len(blocks) > 1 else ""
            found.append(
                Proposal(kind=kind, sentence=sentence.group(1) if sentence else "", code=blocks[0], probe=probe)
            )
    return found


def _tried(laboratory: Laboratory, proposal: Proposal) -> Finding:
    task = laboratory.task
    finding = Finding(task=task.id, digest=audit_digest(task), model="", number=0, proposal=proposal, passed=False)
    code = dict.fromkeys(task.goal_files, proposal.code)
    try:
        files = read_submission(task, Submission(system=_OWNER, task=task.id, code=code))[0]
    except SubmissionError as error:
        return finding.model_copy(update={"rejected_by": str(error)})
    trials = [Trial("", files, seed, _OWNER) for seed in laboratory.seeds[:SEEDS]]
    for trial, result in laboratory.run("adversary", trials):
        if result.rejected_by:
            reason = laboratory.reason(trial, result)
            return finding.model_copy(update={"rejected_by": f"{result.rejected_by[0]}: {reason}"})
    shown = ""
    if proposal.kind == "wrong":
        shown = _probed(laboratory, proposal.probe, files) if proposal.probe else ""
        shown = shown or told_apart(laboratory, {"": files}, _OWNER).get("", "")
    return finding.model_copy(update={"passed": True, "told_apart_by": shown})


def _probed(laboratory: Laboratory, probe: str, files: dict[str, bytes]) -> str:
    """Run a probe on the golden and on a wrong version, and return the difference; empty if none is found."""
    task = laboratory.task
    cases = Cases(("its own input",), encode_cases([{"name": "its own input"}]))
    jobs = [
        replace(laboratory.job(item, 0, cases, _OWNER), observe=_PROBED + probe, check_seconds=30.0)
        for item in (repository_files(task), files)
    ]
    outcomes: dict[int, Outcome] = dict(laboratory.observe("its own input", jobs))
    golden, other = ([case for case in outcomes[number].cases if case.status == "observed"] for number in (0, 1))
    if not golden:
        return ""
    if not other:
        return "its own input: it fails, and the golden does not"
    difference = compare(decode(golden[0].payload), decode(other[0].payload), task.bounds)
    return f"its own input: {difference}" if difference else ""


def accept(task: Task, finding: Finding, name: Name) -> Path:
    """Add the code of a finding to the wrong versions or to the rewrites (correct alternatives) of its task.

    Args:
        task: The task that the finding is about.
        finding: The finding whose code to add.
        name: The name of the new version. Its file is called `<name>.py`.

    Returns:
        The written file.

    Raises:
        RecordError: The name is invalid, or another version already has it.
    """
    try:
        TypeAdapter(Name).validate_python(name)
    except ValidationError as error:
        raise RecordError(f"{name!r}: not a valid name; use lower-case letters, digits and underscores") from error
    kind, versions = (
        ("wrong", task.files.wrong) if finding.proposal.kind == "wrong" else ("rewrites", task.files.rewrites)
    )
    file = task.folder / kind / task.name / f"{name}.py"
    if name in versions or file.exists():
        raise RecordError(f"{kind}/{task.name}: {name} already exists; choose another name")
    write_whole(file, finding.proposal.code.encode())
    return file


def asking(model: str) -> Ask:
    """Return a function that asks a model. It raises ServiceError if the model fails; Inspect caches the answers."""
    from inspect_ai.model import CachePolicy, get_model

    def ask(prompt: str) -> str:
        try:
            output = asyncio.run(get_model(model, memoize=False).generate(prompt, cache=CachePolicy(expiry=None)))
        except Exception as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise ServiceError(f"{model} did not answer: {lines[0]}") from error
        return output.completion

    return ask


def attack_all(
    tasks: Sequence[Task], model: str, wrong: int, right: int, file: Path, pool: WorkerPool
) -> Iterator[Finding]:
    """Have a model attack several tasks, and yield each finding; see `attack`."""
    ask = asking(model)
    for task in tasks:
        yield from attack(Laboratory(task, range(SEEDS), pool, lambda *_: None), model, ask, wrong, right, file)


def finding_in(file: Path, task: Task, number: int) -> Finding:
    """Return the last of the findings in a file that have this task and number. Raises RecordError if none has."""
    found = [item for item in read_lines(file, Finding) if (item.task, item.number) == (task.id, number)]
    if not found:
        raise RecordError(f"{file}: there is no finding with number {number} for {task.id}")
    return found[-1]
