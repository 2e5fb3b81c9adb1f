"""The two halves of a check: what draws cases, and what observes them.

Cases are drawn once for a task and a seed, where no candidate ever is. Whatever observes them, reference or candidate,
gets the drawn cases and `observe` with the names of the check that `observe` needs: no `cases`, no helper of it, no
seed.
"""

from __future__ import annotations

import ast
import functools

from lmrbench.errors import TaskError
from lmrbench.source.reached import statements_for

_DRAWING = """

def observe(case):
    import numpy
    from inside.cases import encode_cases

    drawn = list({function}(case["seed"]))
    names = [str(item.get("name", "")) if isinstance(item, dict) else "" for item in drawn]
    return {{"names": names, "cases": numpy.frombuffer(encode_cases(drawn), numpy.uint8)}}
"""


@functools.cache
def observing(check: str) -> str:
    """Return the source of a check's `observe`, with what it needs of the check.

    Raises:
        TaskError: the check is no Python, has no `observe`, or looks names up that can't be known beforehand.
    """
    try:
        statements = statements_for(ast.parse(check), "observe")
    except SyntaxError as error:
        raise TaskError(f"the check: line {error.lineno}: {error.msg}") from error
    if not any(isinstance(item, ast.FunctionDef) and item.name == "observe" for item in statements):
        raise TaskError("the check defines no function `observe`")
    for node in (node for statement in statements for node in ast.walk(statement)):
        if isinstance(node, ast.Call) and _looks_up(node):
            place = f"the check: line {node.lineno}: {ast.unparse(node.func)}()"
            raise TaskError(f"{place} hides what `observe` needs; name it, or use a table")
    return ast.unparse(ast.Module(statements, type_ignores=[])) + "\n"


def _looks_up(call: ast.Call) -> bool:
    """Whether a call finds names of its module that its text does not spell out."""
    if not isinstance(call.func, ast.Name):
        return False
    # With a namespace of their own, `eval` and `exec` see no name of the module.
    return call.func.id == "globals" or (call.func.id in ("eval", "exec") and len(call.args) + len(call.keywords) < 2)


def drawing(check: str, function: str = "cases") -> str:
    """Return the source of an `observe` that draws: from {"seed": ...} the names of all cases, and their encoding."""
    return check + _DRAWING.format(function=function)


def defines(check: str, function: str) -> bool:
    """Whether a check defines a function of that name at its top level."""
    return any(isinstance(node, ast.FunctionDef) and node.name == function for node in ast.parse(check).body)
