"""The built-in system `search`, which solves forensic tasks without reading the paper.

A forensic task contains the log of a changed program and asks for the changes. `search` tries generic edits of the
files that may differ. Such an edit replaces a constant, operator, keyword or name, or removes a statement. The search
goes through the stages of the log in order. At a stage with metrics that differ, it repeatedly adds the edit that makes
the most metrics agree. It is a baseline: solvers should find more changes.
"""

from __future__ import annotations

import ast
import json
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

from lmrbench.grading.compare import compare
from lmrbench.grading.experiments import Metrics, decisive, logs_of
from lmrbench.sandbox.protocol import WorkerPool
from lmrbench.source.expressions import EXPRESSIONS, Names, Operator, constant, nodes_of
from lmrbench.source.syntax import FunctionNode, ParsedSource, decode, splice, syntax_tree
from lmrbench.tasks.bounds import Bounds
from lmrbench.tasks.model import CASE_SECONDS, Task
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.tiers.logged import EXPERIMENT, PUBLISHED_SEEDS

SYSTEM = "search"
# Factors by which a constant is multiplied to get other plausible values.
_FACTORS = (0.1, 0.5, 2, 10)


class Edit(NamedTuple):
    """A replacement of text in a file.

    Attributes:
        file: The path of the file.
        start: The offset of the first character that is replaced.
        end: The offset after the last character that is replaced.
        text: The new text.
    """

    file: str
    start: int
    end: int
    text: str


def generic_edits(files: Mapping[str, bytes]) -> list[Edit]:
    """Return all generic edits of a program's Python files that leave the edited file parseable."""
    found: dict[Edit, None] = {}
    for path, data in files.items():
        if not path.endswith(".py"):
            continue
        parsed = ParsedSource.parse(decode(data)[0])
        for node, replacement in _replacements(parsed.tree):
            edit = _edit(path, parsed, node, replacement)
            if edit is not None:
                found[edit] = None
    return list(found)


def searched(
    tasks: Sequence[Task], workers: WorkerPool, advance: Callable[[str, int, int], None]
) -> Iterator[Submission]:
    """Search for the changes of forensic tasks.

    Args:
        tasks: The tasks. Group them by paper, because the logs of single edits are reused for the paper's next task.
        workers: The workers that run the programs.
        advance: Called with the id of a task, the number of finished runs, and the total number of runs.

    Yields:
        A submission for each task. Its label contains the number of runs that the search takes.
    """
    search: _Searcher | None = None
    for task in tasks:
        faithful = {**task.files.repository, **task.files.shown}
        if search is None or search.faithful != faithful:
            search = _Searcher(faithful, generic_edits(task.files.shown))
        edits, runs = search.changes(task, workers, partial(advance, task.id))
        files = {**task.files.shown, **_made(faithful, edits)}
        code = {path: decode(data)[0] for path, data in files.items()}
        yield Submission(system=SYSTEM, task=task.id, label=f"{runs} runs", code=code)


class _Searcher:
    """Searches for the changes of one paper's tasks, and caches the logs of single edits."""

    def __init__(self, faithful: Mapping[str, bytes], edits: Sequence[Edit]) -> None:
        self.faithful = faithful
        self._edits = edits
        self._kept: dict[tuple[Edit, ...], Metrics | None] = {}

    def changes(self, task: Task, workers: WorkerPool, advance: Callable[[int, int], None]) -> tuple[list[Edit], int]:
        """Search for edits that reproduce a task's log.

        Returns:
            The edits that were found, and the number of runs that the search would take without the cache.
        """
        assert task.draw is not None
        wanted = decisive(json.loads(task.files.results)[str(PUBLISHED_SEEDS[0])])
        near = Bounds(task.tolerances[EXPERIMENT])
        runs = 1 + len(self._edits)
        [before, *alone] = self._logs(task, [(), *((edit,) for edit in self._edits)], workers, advance)
        first = {
            edit: _first_difference(before, metrics, near)
            for edit, metrics in zip(self._edits, alone, strict=True)
            if before is not None and metrics is not None
        }
        chosen: tuple[Edit, ...] = ()
        reached = _reached(before, wanted, near)
        while reached.stages < len(wanted) and len(chosen) < task.draw.count:
            stage = list(wanted)[reached.stages]
            sets = [(*chosen, edit) for edit in first if first[edit] == stage and not _overlap(edit, chosen)]
            runs += len(sets) if chosen else 0
            found = self._logs(task, sets, workers, advance)
            ends = [_reached(metrics, wanted, near) for metrics in found]
            best = max(ends, default=reached)
            if best <= reached:
                break
            chosen, reached = sets[ends.index(best)], best
        return list(chosen), runs

    def _logs(
        self,
        task: Task,
        sets: Sequence[tuple[Edit, ...]],
        workers: WorkerPool,
        advance: Callable[[int, int], None],
    ) -> list[Metrics | None]:
        new = [edits for edits in sets if edits not in self._kept]
        programs = [{**self.faithful, **_made(self.faithful, edits)} for edits in new]
        found = dict(zip(new, logs_of(task, programs, workers, advance, seconds=CASE_SECONDS), strict=True))
        self._kept |= {edits: metrics for edits, metrics in found.items() if len(edits) < 2}
        return [found[edits] if edits in found else self._kept[edits] for edits in sets]


class _Reached(NamedTuple):
    """The extent to which two logs agree.

    Attributes:
        stages: The number of stages before the first stage that differs.
        metrics: The number of metrics that agree in the first stage that differs.
    """

    stages: int
    metrics: int


def _reached(metrics: Metrics | None, wanted: Metrics, near: Bounds) -> _Reached:
    if metrics is None:
        return _Reached(-1, 0)
    for number, (stage, values) in enumerate(wanted.items()):
        ours = metrics.get(stage, {})
        agree = sum(compare(value, ours.get(name), near) is None for name, value in values.items())
        if agree < len(values):
            return _Reached(number, agree)
    return _Reached(len(wanted), 0)


def _first_difference(before: Metrics, after: Metrics, near: Bounds) -> str:
    """Return the first stage in which two logs differ; "" if they agree."""
    wanted = decisive(before)
    stages = _reached(after, wanted, near).stages
    return next(islice(wanted, stages, None), "")


def _overlap(edit: Edit, others: Sequence[Edit]) -> bool:
    return any(edit.file == other.file and edit.start < other.end and other.start < edit.end for other in others)


def _made(files: Mapping[str, bytes], edits: Sequence[Edit]) -> dict[str, bytes]:
    """Apply edits, and return the new contents of the files that they change, by path."""
    changed = {}
    for path in dict.fromkeys(edit.file for edit in edits):
        text, encoding = decode(files[path])
        own = [(edit.start, edit.end, edit.text) for edit in edits if edit.file == path]
        changed[path] = splice(text, own).encode(encoding)
    return changed


def _replacements(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield each node of a file that a generic edit replaces, together with its replacement."""
    nowhere = Names(ast.FunctionDef(name="", args=_NO_ARGUMENTS, body=[], decorator_list=[]))
    names = dict.fromkeys(ast.walk(tree), nowhere)
    for function in ast.walk(tree):
        if isinstance(function, FunctionNode):
            names |= dict.fromkeys(ast.walk(function), Names(function))
    for node in nodes_of(tree):
        for operator in (*EXPRESSIONS, _CONSTANT):
            if isinstance(node, operator.kind):
                yield from ((node, replacement) for replacement in operator.alternatives(node, names[node]))


def _edit(path: str, parsed: ParsedSource, node: ast.AST, replacement: ast.AST) -> Edit | None:
    """Return the edit that replaces a node.

    Returns None if the node is a string, a docstring, or neither an expression nor a statement, or if the edited file
    can't be parsed.
    """
    is_text = isinstance(node, ast.Constant | ast.Expr) and isinstance(getattr(node, "value", None), str | ast.Constant)
    if is_text or not isinstance(node, ast.expr | ast.stmt):
        return None
    start, end = parsed.begin(node), parsed.finish(node)
    text = ast.unparse(replacement)
    if isinstance(node, ast.expr) and not isinstance(node, ast.Slice | ast.Constant | ast.Name):
        text = f"({text})"
    text = textwrap.indent(text, parsed.margin(start)).lstrip()
    try:
        syntax_tree(splice(parsed.text, [(start, end, text)]))
    except SyntaxError:
        return None
    return Edit(path, start, end, text)


def _other_values(node: ast.Constant, names: Names) -> Iterator[ast.AST]:
    value = node.value
    if isinstance(value, int | float) and not isinstance(value, bool):
        for factor in _FACTORS:
            scaled = type(value)(value * factor)
            if scaled != value:
                yield constant(scaled)


_NO_ARGUMENTS = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
_CONSTANT = Operator("other values", ast.Constant, _other_values, "a constant multiplied by a factor")
