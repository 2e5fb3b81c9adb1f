"""Does what a solver sees give an answer away, and does it say enough to find its own?

A leak is measured as the share of a golden body's n-grams of tokens that stand in one file of a workspace, as they are
or, within functions, with all names made alike. No workspace may hold the golden of any task: not its own, nor another
of its paper, nor one of another paper. A task is under-specified if its golden uses a literal that no file, summary or
instruction states.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import json
import keyword
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from lmrbench.pysource.functions import find
from lmrbench.pysource.source import FunctionNode
from lmrbench.records import Record
from lmrbench.tasks.model import Target, Task
from lmrbench.tasks.workspace import workspace_files

N = 8
_TOKEN = re.compile(r"[^\W\d]\w*|\d[\w.]*|[^\w\s]")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?", re.IGNORECASE)
# What needs no source: nobody has to be told of 0, 1, 2 and the empty string.
_OBVIOUS = frozenset({"", 0, 1, 2})


class Leak(Record):
    """The file that tells most of the answer, and the share of its n-grams that it tells, from 0 to 1."""

    share: float
    place: str


class Missing(Record):
    """What a golden uses and no input states: literals; and names, which may be those of a library."""

    literals: tuple[str, ...]
    names: tuple[str, ...]


class _Grams(NamedTuple):
    verbatim: frozenset[tuple[str, ...]]
    renamed: frozenset[tuple[str, ...]]


# Of a file that can't be read and may hold anything.
_EVERYTHING = _Grams(frozenset(), frozenset())


def worst_leak(task: Task) -> Leak:
    """Which file of the workspace holds most of the body of a target of the paper: the task's own, or a sibling's."""
    bodies = [_grams(_tokens(_body(node))) for node in _goldens(task, (*task.targets, *task.siblings))]
    return _worst(bodies, _pieces(workspace_files(task, "full")))


def foreign_leaks(tasks: Iterable[Task]) -> Iterator[tuple[Task, Task, Leak]]:
    """Each task whose workspace holds something of the golden of another paper's task: both, and the worst place.

    The first of each pair is the one whose workspace it is.
    """
    tasks = tuple(tasks)
    bodies = {task.id: [_grams(_tokens(_body(node))) for node in _goldens(task, task.targets)] for task in tasks}
    for task in tasks:
        pieces = list(_pieces(workspace_files(task, "full")))
        for other in tasks:
            if other.paper.slug != task.paper.slug:
                worst = _worst(bodies[other.id], pieces)
                if worst.share > 0:
                    yield task, other, worst


def _worst(bodies: Sequence[_Grams], pieces: Iterable[tuple[str, _Grams]]) -> Leak:
    worst = Leak(share=0.0, place="")
    for place, found in pieces:
        if found is _EVERYTHING:
            return Leak(share=1.0, place=place)
        for body in bodies:
            share = _share(body.verbatim, found.verbatim)
            if "::" in place:
                share = max(share, _share(body.renamed, found.renamed))
            if share > worst.share:
                worst = Leak(share=round(share, 4), place=place)
    return worst


def _pieces(files: Mapping[str, bytes]) -> Iterator[tuple[str, _Grams]]:
    """The files of a workspace, and every function in them, each with the place where it stands."""
    for path, data in files.items():
        if data.startswith(importlib.util.MAGIC_NUMBER):
            # Whatever a compiled file is called, a decompiler reads it.
            yield path, _EVERYTHING
            continue
        text = _notebook_code(data) if path.endswith(".ipynb") else data.decode("utf-8", "replace")
        yield path, _grams(_tokens(text))
        if path.endswith((".py", ".ipynb")):
            for node in _functions(text):
                yield f"{path}::{node.name}", _grams(_tokens(_body(node)))


def missing(task: Task) -> Missing:
    """Literals and names of the goldens' bodies that stand nowhere in the workspace."""
    text = "\n".join(data.decode("utf-8", "replace") for data in workspace_files(task, "full").values())
    words = set(re.findall(r"[^\W\d]\w*", text)) | set(dir(builtins)) | set(keyword.kwlist)
    numbers = {float(number) for number in _NUMBER.findall(text)}
    literals: dict[str, None] = {}
    names: dict[str, None] = {}
    for function in _goldens(task, task.targets):
        bound = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and not _is_load(node)}
        bound |= {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
        bound |= {node.name for node in ast.walk(function) if isinstance(node, FunctionNode)}
        options: set[int] = set()
        for statement in _statements(function):
            for node in ast.walk(statement):
                if isinstance(node, ast.keyword) and isinstance(node.value, ast.Constant):
                    options.add(id(node.value))
                if isinstance(node, ast.Constant) and not _is_stated(node.value, text, numbers):
                    # A word that is handed to a library by keyword is the library's, as its name would be.
                    is_word = isinstance(node.value, str) and id(node) in options
                    (names if is_word else literals)[repr(node.value)] = None
                for name in _names(node):
                    if name not in words and name not in bound:
                        names[name] = None
    return Missing(literals=tuple(literals), names=tuple(names))


def _notebook_code(data: bytes) -> str:
    cells = json.loads(data).get("cells", [])
    return "\n".join("".join(cell.get("source", [])) for cell in cells)


def _goldens(task: Task, targets: Iterable[Target]) -> list[FunctionNode]:
    return [find(task.files.repository[target.file], target.qualname).node for target in targets]


def _functions(text: str) -> Iterator[FunctionNode]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, FunctionNode):
            yield node


def _statements(function: FunctionNode) -> list[ast.stmt]:
    return function.body[1:] if ast.get_docstring(function) is not None else function.body


def _body(function: FunctionNode) -> str:
    return "\n".join(ast.unparse(statement) for statement in _statements(function))


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _grams(tokens: list[str]) -> _Grams:
    order: dict[str, str] = {}
    renamed = [order.setdefault(token, f"name {len(order)}") if _is_name(token) else token for token in tokens]
    return _Grams(frozenset(_windows(tokens)), frozenset(_windows(renamed)))


def _windows(tokens: list[str]) -> Iterator[tuple[str, ...]]:
    size = min(N, len(tokens))
    return (tuple(tokens[start : start + size]) for start in range(len(tokens) - size + 1))


def _share(body: frozenset[tuple[str, ...]], found: frozenset[tuple[str, ...]]) -> float:
    return len(body & found) / len(body) if body else 0.0


def _is_name(token: str) -> bool:
    return token.isidentifier() and not keyword.iskeyword(token)


def _is_load(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def _is_stated(value: object, text: str, numbers: set[float]) -> bool:
    if isinstance(value, bool | None) or value in _OBVIOUS or value is Ellipsis:
        return True
    if isinstance(value, int | float):
        return float(value) in numbers
    return str(value).strip() in text


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        return [node.attr]
    return [node.arg] if isinstance(node, ast.keyword) and node.arg else []
