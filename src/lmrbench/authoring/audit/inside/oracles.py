"""Detection of oracles: what a check knows about the target's results before the target returns them.

`watched` observes a case and profiles the functions of the check and the target. It reports what the target returned,
what functions of the check returned without calling the target, and what their frames held when the target was called.
A candidate in place of the target could get all of that by calling or reading the check.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from types import FrameType
from typing import Any

MOST_VALUES, MOST_BYTES = 200, 1 << 14
# The encoder of the program that runs the check, found by name: an import would count as one of the task.
_ENCODING = "inside.encoding"


class _Watch:
    def __init__(self, case: Any, targets: Collection[tuple[str, str]]) -> None:
        self.targets = targets
        # A candidate gets the values of a case anyway.
        self.inputs = {_small_data(part) for part in _parts(case)}
        self.results: list[bytes] = []
        self.known: list[list[Any]] = []
        # The running functions of the check, each with whether it has called the target.
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
    """Observe a case, and watch the check.

    Args:
        observe: The check's `observe`.
        case: The case.
        targets: The file and the qualified name of each target.

    Returns:
        Under `results` the results of the targets, and under `known` pairs of a name and a value that was known before.
        Values are encoded at once, so that later changes have no effect on them.
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
    """Yield a value of a case, and all values in it."""
    yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ():
        yield from _parts(part)


def _small_data(value: Any) -> bytes | None:
    """Return a value in its present state, encoded; None if it is large or not plain data."""
    try:
        data: bytes = sys.modules[_ENCODING].encode(value)
    except Exception:
        return None
    return data if len(data) <= MOST_BYTES else None
