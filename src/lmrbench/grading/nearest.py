"""The built-in system `nearest`, which needs no model: it copies the bodies of similar functions in the repository."""

from __future__ import annotations

import ast
import difflib
import textwrap
from collections.abc import Mapping

from lmrbench.source.functions import find
from lmrbench.source.syntax import FunctionNode
from lmrbench.tasks.model import Target, Task
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.workspace import masked_files


def nearest(task: Task) -> Submission:
    """Return a submission in which each target (masked function) has the body of the most similar function.

    Functions are compared by signature and docstring. Only functions that a solver can see are considered.
    """
    files = masked_files(task)
    bodies = {target: body(found) for target in task.targets if (found := _most_similar(files, target))}
    return with_bodies(task, "nearest", bodies)


def body(node: FunctionNode) -> str:
    """Return the source code of a function's statements without its docstring."""
    statements = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return "\n".join(ast.unparse(statement) for statement in statements)


def with_bodies(task: Task, system: str, bodies: Mapping[Target, str], label: str = "") -> Submission:
    """Make a submission whose targets have the given bodies. Targets that are not in `bodies` return None."""
    files = masked_files(task)
    code: dict[str, str] = {}
    for target in task.targets:
        node = find(files[target.file], target.qualname).node
        kind = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
        statements = textwrap.indent(bodies.get(target, "pass").strip("\n"), "    ")
        text = f"{kind} {node.name}({ast.unparse(node.args)}):\n{statements}\n"
        code[target.file] = code.get(target.file, "") + text
    return Submission(system=system, task=task.id, label=label, code=code)


def _most_similar(files: Mapping[str, bytes], target: Target) -> FunctionNode | None:
    wanted = find(files[target.file], target.qualname).node
    best, best_ratio = None, 0.0
    for path, data in files.items():
        if not path.endswith(".py"):
            continue
        try:
            tree = ast.parse(data)
        except (SyntaxError, ValueError):
            # Published packages contain files that can't be parsed, such as templates and Python 2 code.
            continue
        for node in ast.walk(tree):
            if isinstance(node, FunctionNode) and ast.dump(node) != ast.dump(wanted):
                ratio = difflib.SequenceMatcher(None, _described(wanted), _described(node)).ratio()
                if ratio > best_ratio:
                    best, best_ratio = node, ratio
    return best


def _described(node: FunctionNode) -> str:
    return f"{node.name}({ast.unparse(node.args)}) {ast.get_docstring(node) or ''}"
