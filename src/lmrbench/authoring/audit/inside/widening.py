"""Widened cases: a check's cases with other magnitudes, dtypes, memory layouts, sizes and special values.

They may show a difference between the reference (the golden) and a mutant (a copy with a mistake) that passes the
check. A variation changes the data of a case without knowing its meaning, so many widened cases are invalid inputs. The
golden fails on these, and they are skipped.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from .wrappers import cast, converted, dtype_name, is_array, is_floating, is_number

Variation = tuple[str, Callable[[Any], Any]]
_DTYPES = ("float64", "float32", "float16", "bfloat16")
_FACTORS = (1e-7, 1e-3, 30.0, 1e3)
_NUMBERS = (0, 1, 0.01, 0.3, 3, 40)


def widened(cases: list[Any], seed: int, most: int) -> list[dict[str, Any]]:
    """Return random variations of cases.

    Args:
        cases: The cases of the check. Cases that are not dicts are ignored.
        seed: The random seed.
        most: The maximum number of variations to return.

    Returns:
        New cases, each named after its original case and the change.
    """
    made = [
        (case, label, change)
        for case in cases
        if isinstance(case, dict)
        for label, change in [("as it is", _same), *_of_tensors(), *_of_leaves(case)]
    ]
    chosen = random.Random(seed).sample(made, min(most, len(made)))
    result = []
    for case, label, change in chosen:
        try:
            data = change({key: value for key, value in case.items() if key not in ("name", "edge")})
        except (ValueError, TypeError, RuntimeError, IndexError):
            # The change is impossible for this case, for example infinity in an array of integers.
            continue
        result.append({"name": f"{case.get('name', '')}, {label}", **data})
    return result


def _same(value: Any) -> Any:
    return value


def _of_tensors() -> Iterator[Variation]:
    """Yield variations that change all tensors and arrays of a case."""
    changes: list[Variation] = [(f"in {dtype}", partial(cast, dtype=dtype)) for dtype in _DTYPES]
    changes += [(f"times {factor:g}", partial(_scaled, factor=factor)) for factor in _FACTORS]
    changes += [("far from zero", _moved), ("far from zero in float64", lambda item: _moved(cast(item, "float64")))]
    changes += [("not contiguous", _strided), ("rows repeated", _repeated)]
    changes += [
        (f"{rows} along axis {axis}", partial(_cut, axis=axis, rows=rows)) for axis in (0, 1, -1) for rows in (0, 1, 2)
    ]
    changes += [(f"{bad} at the end", partial(_spoiled, bad=bad)) for bad in (math.nan, math.inf)]
    for label, change in changes:
        yield label, partial(converted, change=change)


def _of_leaves(case: dict[str, Any]) -> Iterator[Variation]:
    """Yield variations that change one number, string, boolean or list of a case."""
    for path, leaf in _leaves(case, ()):
        for label, other in _alternatives(leaf):
            place = ".".join(map(str, path))
            yield f"{place}: {label}", partial(_replaced, path=path, other=other)


def _leaves(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if path in (("name",), ("seed",), ("edge",)):
        return
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, (list, tuple)) and len(path) < 3:
        yield path, list(value)
        for index, item in enumerate(value[:6]):
            yield from _leaves(item, (*path, index))
    elif not is_array(value):
        yield path, value


def _alternatives(leaf: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(leaf, bool):
        yield str(not leaf), not leaf
    elif is_number(leaf):
        numbers = _NUMBERS if isinstance(leaf, float) else (0, 1, leaf + 1)
        for number in numbers:
            yield str(number), type(leaf)(number)
    elif isinstance(leaf, str):
        for other in (leaf.upper(), leaf.lower(), leaf.capitalize(), f" {leaf} ", "", f"{leaf}:", f"{leaf} {leaf}"):
            yield repr(other)[:40], other
    elif isinstance(leaf, list):
        yield "reversed", leaf[::-1]
        yield "the first alone", leaf[:1]
        yield "none", []
        yield "twice", leaf + leaf


def _replaced(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    if not path:
        return other
    first, *rest = path
    if isinstance(value, dict):
        return {key: _replaced(item, tuple(rest), other) if key == first else item for key, item in value.items()}
    items = [_replaced(item, tuple(rest), other) if index == first else item for index, item in enumerate(value)]
    return items if isinstance(value, list) else type(value)(items)


def _moved(item: Any) -> Any:
    return item + 1e4 if is_floating(item) else item


def _scaled(item: Any, factor: float) -> Any:
    return cast(item * factor, dtype_name(item)) if is_floating(item) else item


def _strided(item: Any) -> Any:
    if len(item.shape) < 2:
        return item
    return item.swapaxes(0, 1).clone().swapaxes(0, 1) if hasattr(item, "clone") else item.T.copy().T


def _cut(item: Any, axis: int, rows: int) -> Any:
    if len(item.shape) <= max(axis, 0):
        return item
    index: list[Any] = [slice(None)] * len(item.shape)
    index[axis] = slice(0, rows)
    return item[tuple(index)]


def _spoiled(item: Any, bad: float) -> Any:
    if not is_floating(item) or not len(item.shape) or 0 in item.shape:
        return item
    spoiled = item.clone() if hasattr(item, "clone") else item.copy()
    spoiled[(-1,) * len(item.shape)] = bad
    return spoiled


def _repeated(item: Any) -> Any:
    if not len(item.shape):
        return item
    return item[[0] * item.shape[0]]
