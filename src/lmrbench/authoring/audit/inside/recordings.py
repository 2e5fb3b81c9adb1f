"""A decorator that records the values of a function's slots while a check runs.

A slot is a parameter (`beta`) or a setting of the object that a method belongs to (`self.beta`, `self.args.beta`).

A recorded value is a dict with a `kind`: "floats" for a tensor or array of floating-point numbers, "array" for any
other tensor or array, "number", "model", or else the name of the value's type. Numbers, strings, booleans and None also
have a `value`. Tensors and arrays have `dtype` and `rows`, the size of the first dimension (-1 for a scalar). Lists,
tuples and dicts have `rows`, the number of their items.
"""

from __future__ import annotations

import builtins
from typing import Any

from .wrappers import Invocation, behaviour, dtype_name, is_array, is_floating, is_model, is_number

MOST_CALLS = 20
calls: list[dict[str, Any]] = []


@behaviour
def recorded(call: Invocation, target: str, slots: list[str]) -> Any:
    """Run a call unchanged, and record the values of the given slots and the exception that the call raises.

    The exception is recorded as the name of its closest built-in class, or as "" if the call raises none.
    """
    line: dict[str, Any] = {
        "target": target,
        "slots": {slot: described(call.get(slot)) for slot in slots},
        "raised": "",
    }
    if len(calls) < MOST_CALLS:
        calls.append(line)
    try:
        return call.run()
    except Exception as error:
        line["raised"] = next(kind.__name__ for kind in type(error).__mro__ if kind.__name__ in vars(builtins))
        raise


def described(value: Any) -> dict[str, Any]:
    """Return the record of a value, as described in the docstring of this module."""
    if is_array(value):
        rows = int(value.shape[0]) if len(value.shape) else -1
        return {"kind": "floats" if is_floating(value) else "array", "dtype": dtype_name(value), "rows": rows}
    if is_number(value):
        return {"kind": "number", "value": value}
    if value is None or isinstance(value, (bool, str)):
        return {"kind": type(value).__name__, "value": value}
    if is_model(value):
        return {"kind": "model"}
    if isinstance(value, (list, tuple, dict)):
        return {"kind": type(value).__name__, "rows": len(value)}
    return {"kind": type(value).__name__}


def drained() -> list[dict[str, Any]]:
    """Return the calls recorded since `drained` was last called, and forget them."""
    found = list(calls)
    calls.clear()
    return found
