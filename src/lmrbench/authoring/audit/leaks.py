"""Leaks and missing facts: find workspaces that contain answers, or that lack facts which an answer needs.

A workspace contains the files that a solver gets, and a golden is the original body of a target (a masked function). A
leak is measured as the share of a golden's token n-grams that occur in a single file of a workspace, either verbatim
or, within functions, with normalized names (numbered in the order in which they first occur). No workspace may contain
a golden of any task, whether of the same paper or of another. A task is underspecified if one of its goldens uses a
literal that is nowhere in the workspace.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import json
import keyword
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from lmrbench.records import Record
from lmrbench.source.expressions import call_name
from lmrbench.source.functions import find
from lmrbench.source.syntax import FunctionNode
from lmrbench.tasks.model import Target, Task
from lmrbench.tasks.workspace import workspace_files

# The length of an n-gram, in tokens.
N = 8
# In a package of a million lines, an unrelated function may share up to this many normalized n-grams with a golden by
# chance.
_CHANCE = 11
_Gram = tuple[str, ...]
_TOKEN = re.compile(r"[^\W\d]\w*|\d[\w.]*|[^\w\s]")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?", re.IGNORECASE)
# Patterns of einsum and einops. Their letters are arbitrary, so no text has to state them.
_AXES = re.compile(r"^[\w\s.,()]*->[\w\s.()]*$")
# Functions whose arguments are messages, which no text has to state.
_SAYING = frozenset({"print", "warn", "debug", "info", "warning", "error", "exception", "critical"})
# Literals that no text has to state.
_OBVIOUS = frozenset({"", 0, 1, 2})


class Leak(Record):
    """The largest share of an answer that is in one file.

    Attributes:
        share: The share of the answer's n-grams that the file contains, from 0 to 1.
        place: The file, or the function in it; empty if the share is 0.
    """

    share: float
    place: str


class Missing(Record):
    """The literals and names that a golden uses, but that are not in the workspace.

    Attributes:
        literals: The source code of each literal.
        names: The names. Some of them may belong to a library.
    """

    literals: tuple[str, ...]
    names: tuple[str, ...]


class _Index(NamedTuple):
    """The n-grams of numbered golden bodies.

    Attributes:
        verbatim: The numbers of the bodies that contain each n-gram.
        renamed: The numbers of the bodies that contain each n-gram with normalized names.
        sizes: The numbers of verbatim and of normalized n-grams in each body.
    """

    verbatim: Mapping[_Gram, list[int]]
    renamed: Mapping[_Gram, list[int]]
    sizes: Sequence[tuple[int, int]]


class _Excerpt(NamedTuple):
    """A file, or a function in a file.

    Attributes:
        place: The path of the file; for a function, followed by its name.
        shares: The share of a golden body's n-grams that it contains, by the body's number. Shares of 0 are left out.
    """

    place: str
    shares: Mapping[int, float]


def worst_leak(task: Task) -> Leak:
    """Return the largest leak in a task's workspace: of a target of the task itself or of one of its sibling tasks.

    Sibling tasks are the other tasks of the same paper and tier.
    """
    index = _index(_goldens(task, (*task.targets, *task.siblings)))
    pieces = [piece for path, data in workspace_files(task, "full").items() for piece in _pieces(path, data, index)]
    return _worst(pieces, range(len(index.sizes)))


def foreign_leaks(tasks: Iterable[Task]) -> Iterator[tuple[Task, Task, Leak]]:
    """Find leaks between papers. Up to `_CHANCE` matching n-grams with normalized names in a function are ignored.

    Args:
        tasks: The tasks to compare with each other.

    Yields:
        A task, a task of another paper whose golden is partly in the first task's workspace, and the largest such leak.
    """
    return _leaks(tasks, lambda task, other: task.paper.slug != other.paper.slug)


def leaks_between_tiers(tasks: Iterable[Task]) -> Iterator[tuple[Task, Task, Leak]]:
    """Find leaks between tasks of the same paper in different tiers, except leaks of targets that both tasks have.

    Args:
        tasks: The tasks to compare with each other.

    Yields:
        A task, a task of another tier whose golden is partly in the first task's workspace, and the largest such leak.
    """
    by_paper: dict[str, list[Task]] = {}
    for task in tasks:
        by_paper.setdefault(task.paper.slug, []).append(task)
    for of_paper in by_paper.values():
        if len({task.tier for task in of_paper}) > 1:
            yield from _leaks(of_paper, lambda task, other: task.tier != other.tier)


def _leaks(tasks: Iterable[Task], meant: Callable[[Task, Task], bool]) -> Iterator[tuple[Task, Task, Leak]]:
    tasks = tuple(tasks)
    goldens = [(task.id, target, node) for task in tasks for target, node in _targets(task)]
    index = _index([node for _, _, node in goldens])
    searched: dict[tuple[str, bytes], list[_Excerpt]] = {}
    for task in tasks:
        others = [other for other in tasks if meant(task, other)]
        pieces: list[_Excerpt] = []
        for path, data in workspace_files(task, "full").items() if others else ():
            if (path, data) not in searched:
                searched[path, data] = _pieces(path, data, index, chance=_CHANCE)
            pieces += searched[path, data]
        for other in others:
            own = () if other.paper.slug != task.paper.slug else task.targets
            bodies = [
                number for number, (name, target, _) in enumerate(goldens) if name == other.id and target not in own
            ]
            worst = _worst(pieces, bodies)
            if worst.share > 0:
                yield task, other, worst


def _targets(task: Task) -> Iterator[tuple[Target, FunctionNode]]:
    return zip(task.targets, _goldens(task, task.targets), strict=True)


def _worst(pieces: Sequence[_Excerpt], bodies: Iterable[int]) -> Leak:
    """Return, as a leak, the excerpt that contains the largest share of any of these bodies (the first on ties)."""
    told = [(round(piece.shares.get(body, 0.0), 4), piece.place) for piece in pieces for body in bodies]
    share, place = max(told, key=lambda item: item[0], default=(0.0, ""))
    return Leak(share=share, place=place if share else "")


def _index(goldens: Sequence[FunctionNode]) -> _Index:
    verbatim: dict[_Gram, list[int]] = {}
    renamed: dict[_Gram, list[int]] = {}
    sizes = []
    for number, node in enumerate(goldens):
        tokens = _tokens(_body(node))
        found = set(_windows(tokens)), set(_windows(_renamed(tokens)))
        for grams, holders in zip(found, (verbatim, renamed), strict=True):
            for gram in grams:
                holders.setdefault(gram, []).append(number)
        sizes.append((len(found[0]), len(found[1])))
    return _Index(verbatim, renamed, sizes)


def _pieces(path: str, data: bytes, index: _Index, chance: int = 0) -> list[_Excerpt]:
    """Return excerpts for a file and for each function in it, except those that share no n-gram with any body.

    Args:
        path: The path of the file.
        data: The content of the file.
        index: The n-grams of the bodies to look for.
        chance: Matches of at most this many normalized n-grams within a function are ignored.
    """
    if data.startswith(importlib.util.MAGIC_NUMBER):
        # A compiled file can be decompiled, whatever its name, so it counts as containing every body.
        return [_Excerpt(path, dict.fromkeys(range(len(index.sizes)), 1.0))]
    text = _notebook_code(data) if path.endswith(".ipynb") else data.decode("utf-8", "replace")
    pieces = [_Excerpt(path, _shares(_tokens(text), index, in_function=False))]
    if path.endswith((".py", ".ipynb")):
        pieces += [
            _Excerpt(f"{path}::{node.name}", _shares(_tokens(_body(node)), index, in_function=True, chance=chance))
            for node in _functions(text)
        ]
    return [piece for piece in pieces if piece.shares]


def _shares(tokens: list[str], index: _Index, in_function: bool, chance: int = 0) -> dict[int, float]:
    """Return the share of each body's n-grams that a text contains. Normalized n-grams count only within functions."""
    shares: dict[int, float] = {}
    kinds = [(tokens, index.verbatim, 0), *([(_renamed(tokens), index.renamed, chance)] if in_function else [])]
    for kind, (texts, holders, least) in enumerate(kinds):
        held = {gram for gram in _windows(texts) if gram in holders}
        for number, count in Counter(number for gram in held for number in holders[gram]).items():
            if count > least:
                shares[number] = max(shares.get(number, 0.0), count / index.sizes[number][kind])
    return shares


def missing(task: Task) -> Missing:
    """Return the literals and names in the goldens' bodies that are nowhere in the workspace.

    Messages, and patterns of einsum and einops, are excluded, because other texts would do as well.
    """
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
            # Docstrings of inner functions are excluded, too.
            said = {id(node.value) for node in ast.walk(statement) if isinstance(node, ast.Expr)}
            told = {id(part) for message in _messages(statement) for part in ast.walk(message)}
            for node in ast.walk(statement):
                if isinstance(node, ast.keyword) and isinstance(node.value, ast.Constant):
                    options.add(id(node.value))
                if isinstance(node, ast.Constant) and not (
                    _is_stated(node.value, text, numbers)
                    or (isinstance(node.value, str) and (id(node) in told | said or _AXES.search(node.value)))
                ):
                    # A string that is passed by keyword counts as a name, because it is usually an option of a library.
                    is_word = isinstance(node.value, str) and id(node) in options
                    (names if is_word else literals)[repr(node.value)] = None
                for name in _names(node):
                    if name not in words and name not in bound:
                        names[name] = None
    return Missing(literals=tuple(literals), names=tuple(names))


def _messages(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the parts of a statement that are messages: of exceptions, assertions, output, logging and warnings."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Raise):
            yield node
        elif isinstance(node, ast.Assert) and node.msg is not None:
            yield node.msg
        elif isinstance(node, ast.Call) and call_name(node) in _SAYING:
            yield node


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


def _renamed(tokens: list[str]) -> list[str]:
    order: dict[str, str] = {}
    return [order.setdefault(token, f"name {len(order)}") if _is_name(token) else token for token in tokens]


def _windows(tokens: list[str]) -> Iterator[_Gram]:
    size = min(N, len(tokens))
    return (tuple(tokens[start : start + size]) for start in range(len(tokens) - size + 1))


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
