"""Mutants: generated mistakes in the reference (the golden), which a check must reject.

A mutant is a file of the golden with one change in the body of a target (a masked function). Operators generate the
changes. There are two tables of operators: one in `source.expressions` for general mistakes in one expression, and one
in `numerics` for changes that matter only for extreme values, ties and masked NaN.
"""

from __future__ import annotations

import ast
import copy
import difflib
import hashlib
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lmrbench.source.expressions import EXPRESSIONS, Names, Operator, nodes_of
from lmrbench.source.functions import find
from lmrbench.source.syntax import FunctionNode, decode, splice
from lmrbench.tasks.model import Target, Task
from lmrbench.tasks.workspace import repository_files


@dataclass(frozen=True)
class Mutant:
    """A copy of the golden with one change.

    Attributes:
        id: The id, which depends only on the target, the operator and the change.
        operator: The name of the operator.
        target: The changed function.
        diff: The difference between the two versions of the function, as formatted by `ast.unparse`.
        file: The content of the changed file.
    """

    id: str
    operator: str
    target: Target
    diff: str
    file: bytes


def mutants(task: Task, operators: Sequence[Operator] = EXPRESSIONS) -> tuple[Mutant, ...]:
    """Return the distinct mutants of a task's targets, in the order in which the changed code occurs.

    Args:
        task: The task whose targets to mutate.
        operators: The operators to apply.
    """
    files = repository_files(task)
    found: dict[str, Mutant] = {}
    for target in task.targets:
        for mutant in _mutants_of(target, files[target.file], operators):
            found.setdefault(mutant.id, mutant)
    return tuple(found.values())


def mutant_id(target: Target, operator: str, change: str) -> str:
    """Return twelve hexadecimal digits that identify a mutant.

    Args:
        target: The changed function.
        operator: The name of the operator.
        change: A text that describes the change.
    """
    return hashlib.sha256(f"{target}\0{operator}\0{change}".encode()).hexdigest()[:12]


def _mutants_of(target: Target, data: bytes, operators: Sequence[Operator]) -> Iterator[Mutant]:
    text, encoding = decode(data)
    function = find(data, target.qualname)
    original = ast.unparse(function.node)
    margin = " " * 4 * len(function.parents)
    for operator, node in _changed(function.node, operators):
        changed = ast.unparse(node)
        if changed == original:
            continue
        lines = difflib.unified_diff(original.splitlines(), changed.splitlines(), lineterm="", n=2)
        diff = "\n".join(list(lines)[2:])
        # The first line replaces code that is already indented in the file.
        body = textwrap.indent(changed, margin)[len(margin) :]
        file = splice(text, [(function.start, function.end, body)]).encode(encoding)
        yield Mutant(mutant_id(target, operator, diff), operator, target, diff, file)


def _changed(function: FunctionNode, operators: Sequence[Operator]) -> Iterator[tuple[str, FunctionNode]]:
    """Yield the name of an operator and the changed function, for each change."""
    names = Names(function)
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    for statement in body:
        for node in nodes_of(statement):
            for operator in operators:
                if isinstance(node, operator.kind):
                    for replacement in operator.alternatives(node, names):
                        copies: dict[int, Any] = {}
                        clone = copy.deepcopy(function, copies)
                        yield operator.name, _Replacing(copies[id(node)], replacement).visit(clone)


class _Replacing(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else self.generic_visit(node)
