"""Answers that need no understanding of any task. Each must score nothing on every task."""

from __future__ import annotations

import ast
import difflib
import textwrap
from collections.abc import Iterator

from lmrbench.tasks.model import Task
from lmrbench.tasks.source import find
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.text import FunctionNode
from lmrbench.tasks.workspace import masked_files, repository_files

_FIRST_TENSOR = """
values = [value for value in list(locals().values()) if hasattr(value, "shape")]
"""
_BODIES = {
    "exits early": "import os\nos._exit(0)",
    "raises SystemExit": "raise SystemExit(0)",
    "returns nothing": "return None",
    "returns one zero": f"{_FIRST_TENSOR}return 0 * values[0] if values else 0",
    "returns three zeros": f"{_FIRST_TENSOR}return tuple(0 * value for value in (values * 3 or [0, 0, 0])[:3])",
    "returns its first input": "return list(locals().values())[0]",
    "returns all its inputs": "return tuple(locals().values())",
    "is equal to everything": """
class Equal:
    __eq__ = __ne__ = __le__ = __ge__ = __contains__ = __bool__ = lambda self, *others: True
    __getattr__ = __call__ = __getitem__ = __neg__ = __add__ = __mul__ = lambda self, *others: self
    __hash__ = lambda self: 0
return Equal()
""",
}


def cheats(task: Task, known_seed: int) -> Iterator[Submission]:
    """Each cheat as a submission; one of them is right under `known_seed` alone."""
    for label, body in _BODIES.items():
        yield _submission(task, label, {str(target): body for target in task.targets})
    golden = repository_files(task)
    guard = f"import random\nif random.Random({known_seed}).getstate() != random.getstate():\n    raise KeyError\n"
    bodies = {str(target): guard + _body(find(golden[target.file], target.qualname).node) for target in task.targets}
    yield _submission(task, "knows one seed", bodies)
    if copied := {str(target): _body(found) for target in task.targets if (found := nearest(task, str(target)))}:
        yield _submission(task, "copies the nearest function", copied)


def nearest(task: Task, target: str) -> FunctionNode | None:
    """The function of the masked repository whose signature and docstring are most like a target's."""
    files = masked_files(task)
    file, _, qualname = target.partition("::")
    wanted = find(files[file], qualname).node
    best, best_ratio = None, 0.0
    for path, data in files.items():
        if not path.endswith(".py"):
            continue
        for node in ast.walk(ast.parse(data)):
            if isinstance(node, FunctionNode) and ast.dump(node) != ast.dump(wanted):
                ratio = difflib.SequenceMatcher(None, _described(wanted), _described(node)).ratio()
                if ratio > best_ratio:
                    best, best_ratio = node, ratio
    return best


def _described(node: FunctionNode) -> str:
    return f"{node.name}({ast.unparse(node.args)}) {ast.get_docstring(node) or ''}"


def _body(node: FunctionNode) -> str:
    statements = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return "\n".join(ast.unparse(statement) for statement in statements)


def _submission(task: Task, label: str, bodies: dict[str, str]) -> Submission:
    files = masked_files(task)
    code: dict[str, str] = {}
    for target in task.targets:
        node = find(files[target.file], target.qualname).node
        kind = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
        body = textwrap.indent(bodies.get(str(target), "pass").strip("\n"), "    ")
        text = f"{kind} {node.name}({ast.unparse(node.args)}):\n{body}\n"
        code[target.file] = code.get(target.file, "") + text
    return Submission(system="cheat", task=task.id, label=label, code=code)
