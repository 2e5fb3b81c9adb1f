"""Detect oracles: values in a check that equal the target's result and do not come from the target.

A target is a function that a submission replaces. `watched` runs `observe` on a case with a profiler. It reports the
results of the target, the results of the check's functions that did not call the target, and the local variables that
the check's functions had when they called the target. A submission could get all these values by calling the check's
functions or by reading their frames.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from types import FrameType
from typing import Any

MOST_VALUES, MOST_BYTES = 200, 1 << 14
# The module with the encoder of the worker that runs the check. It is looked up in `sys.modules`, because an import
# would count as an import of the task.
_ENCODING = "inside.encoding"


class _Watch:
    def __init__(self, case: Any, targets: Collection[tuple[str, str]]) -> None:
        self.targets = targets
        # Values in the case do not count as known to the check, because a candidate gets them anyway.
        self.inputs = {_small_data(part) for part in _parts(case)}
        self.results: list[bytes] = []
        self.known: list[list[Any]] = []
        # The frames of the check's running functions, each with a flag that is set when it calls the target.
        self.running: list[list[Any]] = []

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event not in ("call", "return"):
            return
        if code.co_filename == "check.py" and not code.co_name.startswith("<"):
            if event == "call":
                self.running.append([frame, False])
            elif self.running and self.running[-1][0] is frame:
                _, called = self.running.pop()
                if not called:
                    self._keep(code.co_qualname, argument)
        elif self._is_target(code):
            if event == "call":
                self._enter(frame)
            elif len(self.results) < MOST_VALUES and (data := _small_data(argument)) is not None:
                self.results.append(data)

    def _is_target(self, code: Any) -> bool:
        return any(code.co_qualname == name and code.co_filename.endswith(file) for file, name in self.targets)

    def _enter(self, frame: FrameType) -> None:
        for item in self.running:
            if not item[1]:
                for name, value in list(item[0].f_locals.items()):
                    self._keep(f"{item[0].f_code.co_qualname}: {name}", value)
            item[1] = True

    def _keep(self, name: str, value: Any) -> None:
        data = _small_data(value)
        if data is not None and data not in self.inputs and len(self.known) < MOST_VALUES:
            self.known.append([name, data])


def watched(observe: Callable[[Any], Any], case: Any, targets: Collection[tuple[str, str]]) -> dict[str, Any]:
    """Observe a case, and return the targets' results and the values that the check knows without calling a target.

    Args:
        observe: The function `observe` of the check.
        case: The case to observe.
        targets: The file and the qualified name of each target.

    Returns:
        A dict with two lists: `results`, the results of the targets, and `known`, pairs of a name in the check and its
        value. All values are encoded immediately, so that later changes do not affect them.
    """
    watch = _Watch(case, targets)
    sys.setprofile(watch)
    try:
        observe(case)
    except Exception:
        # Everything seen before the exception counts.
        pass
    finally:
        sys.setprofile(None)
    return {"results": watch.results, "known": watch.known}


def _parts(value: Any) -> Iterator[Any]:
    """Yield a value and, recursively, all values in it."""
    yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ():
        yield from _parts(part)


def _small_data(value: Any) -> bytes | None:
    """Return the encoding of a value as it is now, or None if the value is large or not plain data."""
    try:
        data: bytes = sys.modules[_ENCODING].encode(value)
    except Exception:
        return None
    return data if len(data) <= MOST_BYTES else None
