"""Visibility: test whether the logged results and the texts of a method task tell a solver all that its check requires.

A method task masks all functions that implement a method. A mutant is a copy of the reference with a mistake in one
expression. Each mutant that the check rejects runs the experiment that produced the logged results. If it changes the
results, a solver can find the mistake. For every other mutant, the author quotes in `decided/<task>.toml` the sentence
that it violates. In the prompt setting (one message, one answer) a solver can't run experiments, so the prompt includes
the task's `only_logs`, the facts that only the results reveal.
"""

from __future__ import annotations

import ast
import json
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from lmrbench.authoring.audit.certificate import Mutation, Place, Survivor, Visible
from lmrbench.authoring.audit.laboratory import HASTY, PATIENT, Laboratory, Trial, TrialResult
from lmrbench.authoring.audit.mutants import Mutant, mutants
from lmrbench.errors import TaskError
from lmrbench.grading.compare import compare
from lmrbench.progress import Advance
from lmrbench.records import grouped
from lmrbench.sandbox.inside.encoding import decode
from lmrbench.sandbox.protocol import WorkerPool
from lmrbench.source.functions import find
from lmrbench.source.syntax import decode as decode_source
from lmrbench.tasks.bounds import Bounds
from lmrbench.tasks.loading import decided_file
from lmrbench.tasks.model import Target, Task
from lmrbench.tasks.tiers.logged import EXPERIMENT, PUBLISHED_SEEDS, published_check
from lmrbench.tasks.workspace import instruction, masked_files, repository_files, third_party_imports


def visibility(task: Task, mutation: Mutation, pool: WorkerPool, advance: Advance = lambda *_: None) -> Visible:
    """Run the mutants that the check of a method task rejects, and test whether results or sentences rule them out.

    Args:
        task: The method task.
        mutation: The audit's results for the task's expression mutants (mistakes in one expression).
        pool: The workers that run the jobs.
        advance: Called with the name of a stage, the number of its finished jobs, and the number of all its jobs.

    Raises:
        TaskError: `decided/<task>.toml` is invalid (see `deciding_sentences`) or names an unknown mutant.
    """
    every, sentences = mutants(task), deciding_sentences(task)
    decided = {mutant for sentence in sentences for mutant in sentence.mutants}
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
    near = Bounds(task.tolerances.get(EXPERIMENT, task.tolerance))
    return Visible(
        functions=len(task.targets),
        files=len({target.file for target in task.targets}),
        lines=sum(_lines(task, target) for target in task.targets),
        results_hold=compare(published, json.loads(json.dumps(logged)), near) is None,
        rejected=len(rejected),
        shown=len(rejected) - len(hidden),
        decided=len(hidden) - len(undecided),
        undecided=tuple(Survivor(id=item.id, operator=item.operator, diff=item.diff) for item in undecided),
        sentences=by_place(sentences),
        only_logs=task.only_logs,
    )


class DecidingSentence(NamedTuple):
    """A sentence in the texts for solvers that implies that certain mutants are wrong.

    Attributes:
        text: The sentence.
        place: The kind of text in which a solver reads it.
        mutants: The ids of the mutants that violate it.
    """

    text: str
    place: Place
    mutants: Sequence[str]


def deciding_sentences(task: Task) -> list[DecidingSentence]:
    """Return the sentences in `decided/<task>.toml`, each with the place where a solver reads it.

    Raises:
        TaskError: The file is malformed, or it contains a sentence that is in none of the texts for solvers.
    """
    file = decided_file(task)
    try:
        table = tomllib.loads(task.files.decided)
    except tomllib.TOMLDecodeError as error:
        raise TaskError(f"{file}: {error}") from error
    read = [(place, _plain(text)) for place, text in _read(task)]
    found = []
    for sentence, ids in table.items():
        if not isinstance(ids, list) or not all(isinstance(item, str) for item in ids):
            raise TaskError(f"{file}: {sentence!r}: expected a list of mutant ids")
        place = next((place for place, text in read if _plain(sentence) in text), None)
        if place is None:
            raise TaskError(f"{file}: no instruction, summary or docstring contains {sentence!r}")
        found.append(DecidingSentence(sentence, place, ids))
    return found


def by_place(sentences: Iterable[DecidingSentence]) -> dict[Place, tuple[str, ...]]:
    """Return the texts of sentences, grouped by the place where a solver reads them."""
    groups = grouped(sentences, lambda sentence: sentence.place)
    return {place: tuple(sentence.text for sentence in group) for place, group in groups.items()}


def _logging(task: Task, seeds: tuple[int, ...], pool: WorkerPool, advance: Advance) -> Laboratory:
    check = published_check(third_party_imports(task), seeds)
    return Laboratory(task.model_copy(update={"files": replace(task.files, check=check)}), [0], pool, advance)


def _unchanged(laboratory: Laboratory, stage: str, suspects: Sequence[Mutant]) -> list[Mutant]:
    """Return the mutants that do not change the logged results."""
    golden = repository_files(laboratory.task)
    trials = [Trial(item.id, {**golden, item.target.file: item.file}, 0, case_seconds=HASTY) for item in suspects]
    tried = list(laboratory.run(stage, trials))
    # Mutants that time out run again with a longer limit, because the machine may be busy.
    slow = [replace(trial, case_seconds=PATIENT) for trial, result in tried if _ran_out_of_time(result)]
    tried = [pair for pair in tried if not _ran_out_of_time(pair[1])]
    tried += laboratory.run(f"{stage}, slow mutants", slow)
    changed = {trial.name for trial, result in tried if result.rejected_by}
    return [mutant for mutant in suspects if mutant.id not in changed]


def _ran_out_of_time(result: TrialResult) -> bool:
    """Return whether time limits are the only reason why a trial is rejected."""
    return any(case.status == "timeout" for case in result.outcome.cases) and all(
        case.status in ("timeout", "missing") or (factor is not None and factor <= 1)
        for case, factor in zip(result.outcome.cases, result.margins, strict=False)
    )


def _lines(task: Task, target: Target) -> int:
    """Return the number of lines of a target, including its signature and docstring."""
    node = find(task.files.repository[target.file], target.qualname).node
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


def _read(task: Task) -> Iterator[tuple[Place, str]]:
    """Yield the texts that a solver reads: instruction, summary, and the docstrings of the masked repository."""
    yield "text", instruction(task, "full")
    yield "paper", task.files.summary
    for path, data in masked_files(task).items():
        if path.endswith(".py"):
            for node in ast.walk(ast.parse(decode_source(data)[0])):
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                    yield "code", ast.get_docstring(node) or ""


def _plain(text: str) -> str:
    """Return a text with all whitespace replaced by single spaces."""
    return " ".join(text.split())
