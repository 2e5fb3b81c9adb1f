"""A decorator that records the calls of a function.

The module `recording` adds it to the function in a copy of the repository. Each call is stored as a JSON
line, in the format described by `recording.Call`. Arguments are stored as they were before the call. Of values that are
not plain data (numbers, strings, arrays, and lists and dicts of these), only the type is stored.
"""

from __future__ import annotations

import base64
import functools
import inspect
import json
import os
import random
import sys
import time
from collections.abc import Callable
from typing import Any

from lmrbench.sandbox.inside.encoding import encode

MOST_CALLS = 50
FILE = "LMRBENCH_RECORDINGS"


def record(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function: its first `MOST_CALLS` calls are appended to the file named by `$LMRBENCH_RECORDINGS`."""
    signature = inspect.signature(function)
    calls = 0

    @functools.wraps(function)
    def recorded(*arguments: Any, **keywords: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > MOST_CALLS:
            return function(*arguments, **keywords)
        bound = signature.bind(*arguments, **keywords)
        bound.apply_defaults()
        before = {name: _described(name, value) for name, value in bound.arguments.items()}
        states = _random_states()
        began = time.perf_counter()
        result = function(*arguments, **keywords)
        seconds = time.perf_counter() - began
        drawn = [name for name, state in _random_states().items() if states.get(name) not in (None, state)]
        after = {name: _described(name, value) for name, value in bound.arguments.items()}
        line = {
            "arguments": before,
            "result": _described("result", result),
            "changed": [name for name in before if before[name] != after[name]],
            "drawn": drawn,
            "globals": sorted(_data_globals(function)),
            "loaded": sorted({name.partition(".")[0] for name in sys.modules}),
            "seconds": seconds,
        }
        with open(os.environ[FILE], "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        return result

    return recorded


def _described(name: str, value: Any) -> dict[str, Any]:
    if name == "self":
        plain = {key: item for key, item in vars(value).items() if "data" in _described("", item)}
        return {"type": type(value).__name__, "data": _encoded(plain), "left_out": sorted(vars(value).keys() - plain)}
    try:
        described: dict[str, Any] = {"type": type(value).__name__, "data": _encoded(value)}
    except (TypeError, ValueError):
        return {"type": type(value).__name__}
    if getattr(value, "requires_grad", False):
        described["gradient"] = True
    return described


def _encoded(value: Any) -> str:
    return base64.b64encode(encode(value)).decode("ascii")


def _random_states() -> dict[str, object]:
    states: dict[str, object] = {"random": random.getstate()}
    if numpy := sys.modules.get("numpy"):
        states["numpy"] = str(numpy.random.get_state())
    if torch := sys.modules.get("torch"):
        states["torch"] = torch.get_rng_state().tolist()
    return states


def _data_globals(function: Callable[..., Any]) -> set[str]:
    code = inspect.unwrap(function).__code__
    values = inspect.unwrap(function).__globals__
    return {
        name
        for name in code.co_names
        if name in values and not callable(values[name]) and not inspect.ismodule(values[name])
    }
