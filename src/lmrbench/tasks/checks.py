"""Split a check into its two halves: one draws cases, the other observes them.

In a check, `cases(seed)` yields cases (inputs), and `observe(case)` returns what the task's code computes for one case.

Cases are drawn once for a task and a seed, in a process that never runs a submission. The process that observes the
reference or a submission gets the drawn cases, `observe`, and the definitions in the check that `observe` needs. It
does not get `cases`, the helpers of `cases`, or the seed.
"""

from __future__ import annotations

import ast
import functools

from lmrbench.errors import TaskError
from lmrbench.source.reached import statements_for
from lmrbench.source.syntax import parse

_DRAWING = """

def observe(case):
    import numpy
    from inside.cases import encode_cases, ordinary_first

    drawn = ordinary_first({function}(case["seed"]))
    known = [item if isinstance(item, dict) else {{}} for item in drawn]
    return {{
        "names": [str(item.get("name", "")) for item in known],
        "edge": [number for number, item in enumerate(known) if item.get("edge")],
        "cases": numpy.frombuffer(encode_cases(drawn), numpy.uint8),
    }}
"""


@functools.cache
def observing(check: str) -> str:
    """Return the source of a check's `observe` and of everything in the check that `observe` needs.

    Args:
        check: The source of the check.

    Raises:
        TaskError: The check is not Python, has no `observe`, or looks names up dynamically.
    """
    try:
        statements = statements_for(parse(check), "observe")
    except SyntaxError as error:
        raise TaskError(f"the check: line {error.lineno}: {error.msg}") from error
    if not any(isinstance(item, ast.FunctionDef) and item.name == "observe" for item in statements):
        raise TaskError("the check defines no function `observe`")
    for node in (node for statement in statements for node in ast.walk(statement)):
        if isinstance(node, ast.Call) and _looks_up(node):
            place = f"the check: line {node.lineno}: {ast.unparse(node.func)}()"
            raise TaskError(
                f"{place} hides the names that `observe` needs; use the names directly or look them up in a dict"
            )
    return ast.unparse(ast.Module(statements, type_ignores=[])) + "\n"


def _looks_up(call: ast.Call) -> bool:
    """Return whether a call can look up names of the module that do not appear in the source of the call."""
    if not isinstance(call.func, ast.Name):
        return False
    # With an explicit namespace, `eval` and `exec` do not see the names of the module.
    return call.func.id == "globals" or (call.func.id in ("eval", "exec") and len(call.args) + len(call.keywords) < 2)


def drawing(check: str, function: str = "cases") -> str:
    """Return the source of a check whose `observe` draws the cases of another check.

    This `observe` maps `{"seed": ...}` to the names of the cases, the indices of the edge cases, and the encoded cases.
    Ordinary cases come first.

    Args:
        check: The source of the check.
        function: The name of the function in the check that yields the cases.
    """
    return check + _DRAWING.format(function=function)


def defines(check: str, function: str) -> bool:
    """Return whether a check defines a function at its top level."""
    return any(isinstance(node, ast.FunctionDef) and node.name == function for node in parse(check).body)
