"""Can what a method's check asks for be known: from the logged results, or from a sentence that a solver reads?

Each mutant of one expression that the check rejects is run as the results were logged. What changes them, a solver can
find out. For each of the others the author names the sentence that it breaks, in `decided/<task>.toml`.
"""

from __future__ import annotations

import ast
import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from lmrbench.authoring.audit.certificate import Mutation, Survivor, Visible
from lmrbench.authoring.audit.laboratory import HASTY, PATIENT, Advance, Laboratory, Trial, TrialResult
from lmrbench.authoring.audit.mutants import Mutant, mutants
from lmrbench.errors import TaskError
from lmrbench.grading.compare import compare
from lmrbench.sandbox.inside.encoding import decode
from lmrbench.sandbox.protocol import WorkerPool
from lmrbench.source.functions import find
from lmrbench.source.syntax import decode as decode_source
from lmrbench.tasks.loading import decided_file
from lmrbench.tasks.model import Target, Task
from lmrbench.tasks.tiers.logged import EXPERIMENT, PUBLISHED_SEEDS, published_check
from lmrbench.tasks.workspace import instruction, masked_files, repository_files, third_party_imports


def visibility(task: Task, mutation: Mutation, pool: WorkerPool, advance: Advance = lambda *_: None) -> Visible:
    """Try what the check of a method's task rejects. mutation: of one expression, as the audit found it.

    Raises TaskError for a table of decided mutants that names a sentence which no solver reads, or no mutant.
    """
    every, decided = mutants(task), _decided(task)
    if unknown := decided - {mutant.id for mutant in every}:
        raise TaskError(f"{decided_file(task)}: there is no mutant {min(unknown)}")
    let_pass = {item.id for item in mutation.survivors} | set(tomllib.loads(task.files.equivalents))
    rejected = [mutant for mutant in every if mutant.id not in let_pass]
    first, all_seeds = (_logging(task, seeds, pool, advance) for seeds in (PUBLISHED_SEEDS[:1], PUBLISHED_SEEDS))
    hidden = _unchanged(first, "logged results", rejected)
    hidden = _unchanged(all_seeds, "logged results, all seeds", hidden)
    undecided = [mutant for mutant in hidden if mutant.id not in decided]
    logged = [decode(item)[EXPERIMENT] for item in all_seeds.goldens[0].observations]
    published = list(json.loads(task.files.results or "{}").values())
    near = task.tolerances.get(EXPERIMENT, task.tolerance)
    return Visible(
        functions=len(task.targets),
        files=len({target.file for target in task.targets}),
        lines=sum(_lines(task, target) for target in task.targets),
        results_hold=compare(published, json.loads(json.dumps(logged)), near) is None,
        rejected=len(rejected),
        shown=len(rejected) - len(hidden),
        decided=len(hidden) - len(undecided),
        undecided=tuple(Survivor(id=item.id, operator=item.operator, diff=item.diff) for item in undecided),
    )


def _logging(task: Task, seeds: tuple[int, ...], pool: WorkerPool, advance: Advance) -> Laboratory:
    check = published_check(third_party_imports(task), seeds)
    return Laboratory(task.model_copy(update={"files": replace(task.files, check=check)}), [0], pool, advance)


def _unchanged(laboratory: Laboratory, stage: str, suspects: Sequence[Mutant]) -> list[Mutant]:
    """The mutants under which the logged results stay the same."""
    golden = repository_files(laboratory.task)
    trials = [Trial(item.id, {**golden, item.target.file: item.file}, 0, case_seconds=HASTY) for item in suspects]
    tried = list(laboratory.run(stage, trials))
    # On a busy machine what changes nothing may run out of time, too.
    slow = [replace(trial, case_seconds=PATIENT) for trial, result in tried if _ran_out_of_time(result)]
    tried = [pair for pair in tried if not _ran_out_of_time(pair[1])]
    tried += laboratory.run(f"{stage}, slow mutants", slow)
    changed = {trial.name for trial, result in tried if result.rejected_by}
    return [mutant for mutant in suspects if mutant.id not in changed]


def _ran_out_of_time(result: TrialResult) -> bool:
    """Whether nothing but time rejects it."""
    return any(case.status == "timeout" for case in result.outcome.cases) and all(
        case.status in ("timeout", "missing") or (factor is not None and factor <= 1)
        for case, factor in zip(result.outcome.cases, result.margins, strict=False)
    )


def _lines(task: Task, target: Target) -> int:
    """Of a target, its signature and docstring included."""
    node = find(task.files.repository[target.file], target.qualname).node
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


def _decided(task: Task) -> set[str]:
    """The ids of the mutants that some sentence decides. Each must stand in what a solver reads."""
    file = decided_file(task)
    try:
        table = tomllib.loads(task.files.decided)
    except tomllib.TOMLDecodeError as error:
        raise TaskError(f"{file}: {error}") from error
    read = [_plain(text) for text in _read(task)]
    for sentence, ids in table.items():
        if not isinstance(ids, list) or not all(isinstance(item, str) for item in ids):
            raise TaskError(f"{file}: {sentence!r}: a list of mutants is needed")
        if not any(_plain(sentence) in text for text in read):
            raise TaskError(f"{file}: neither instruction nor summary nor docstring says {sentence!r}")
    return {item for ids in table.values() for item in ids}


def _read(task: Task) -> Iterator[str]:
    """Instruction, summary, and the docstrings of the masked repository."""
    yield instruction(task, "full")
    yield task.files.summary
    for path, data in masked_files(task).items():
        if path.endswith(".py"):
            for node in ast.walk(ast.parse(decode_source(data)[0])):
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                    yield ast.get_docstring(node) or ""


def _plain(text: str) -> str:
    """A text without its line breaks."""
    return " ".join(text.split())
