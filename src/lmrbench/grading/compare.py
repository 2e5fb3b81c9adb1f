"""Compare the observations of a candidate with those of the reference.

Observations are the values that a task's check computes for its cases; those of the reference are called `golden` here.
The comparison runs outside of all sandboxes, on decoded data. Floats agree within the tolerance, and NaN equals NaN.
Infinities and everything else, including shapes and dtypes, must be equal. A Python int is accepted as a float. Texts
must be equal, or as similar as the task requires.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from lmrbench.grading.similarity import similar
from lmrbench.sandbox.inside.encoding import Array
from lmrbench.tasks.bounds import Bounds, Similarity, Tolerance

# The smallest relative tolerance for each dtype of low precision. It replaces the task's tolerance if that is smaller.
_COARSE = {"float16": 1e-3, "bfloat16": 1.6e-2, "float8_e4m3fn": 0.13, "float8_e5m2": 0.26}
_MAX_SHOWN = 80
_LEAST_MARGIN, _MOST_MARGIN = 1e-6, 1e6


class _Pair(NamedTuple):
    """The values of the reference and the candidate at one path of their observations, and the bounds for them."""

    golden: Any
    observed: Any
    tolerance: Tolerance
    similarity: Similarity | None
    path: str


def compare(golden: Any, observed: Any, bounds: Bounds) -> str | None:
    """Return a description of the first difference, or None if the observations agree.

    Args:
        golden: The reference's observation, decoded.
        observed: The candidate's observation, decoded.
        bounds: The tolerances and similarities within which the observations agree.

    Raises:
        SandboxError: The model that measures a similarity can't be loaded.
    """
    for found in _pairs_of(golden, observed, bounds):
        said = found if isinstance(found, str) else _differs(found)
        if said:
            return said
    return None


def margin(golden: Any, observed: Any, bounds: Bounds) -> float | None:
    """Return the smallest f, at least 1e-6, such that the observations agree within f times the tolerance.

    For texts, the tolerance is the difference between 1 and the threshold of the similarity: with a threshold of 0.9,
    texts with a similarity of 0.8 have a margin of 2. Returns None if the observations differ in type or shape, or by
    more than 1e6 times the tolerance. The arguments are those of `compare`.
    """
    largest = _LEAST_MARGIN
    for found in _pairs_of(golden, observed, bounds):
        if isinstance(found, str):
            return None
        largest = max(largest, _factor(found))
        if largest > _MOST_MARGIN:
            return None
    return largest


def _pairs_of(golden: Any, observed: Any, bounds: Bounds) -> Iterator[_Pair | str]:
    """Apply `_pairs` to two observations, with the bounds of each top-level key."""
    if not isinstance(golden, dict) or not isinstance(observed, dict):
        yield from _pairs(golden, observed, bounds.tolerance, None, "")
        return
    if said := _keys_differ(golden, observed, ""):
        yield said
        return
    for key, value in golden.items():
        name = str(key)
        tolerance = bounds.tolerances.get(name, bounds.tolerance)
        yield from _pairs(value, observed[key], tolerance, bounds.similarities.get(name), name)


def _pairs(
    golden: Any, observed: Any, tolerance: Tolerance, similarity: Similarity | None, path: str
) -> Iterator[_Pair | str]:
    """Yield pairs of values to compare within bounds, and descriptions of differences that no bounds allow."""
    are_floats = isinstance(golden, float) and isinstance(observed, (int, float)) and not isinstance(observed, bool)
    if are_floats or (similarity and isinstance(golden, str) and isinstance(observed, str)):
        yield _Pair(golden, observed, tolerance, similarity, path)
    elif isinstance(golden, Array):
        yield _forms_differ(golden, observed, path) or _Pair(golden, observed, tolerance, similarity, path)
    elif type(golden) is not type(observed):
        yield _say(path, f"expected {_kind(golden)}, got {_kind(observed)}")
    elif isinstance(golden, dict):
        if said := _keys_differ(golden, observed, path):
            yield said
            return
        for key, value in golden.items():
            yield from _pairs(value, observed[key], tolerance, similarity, f"{path}.{key}")
    elif isinstance(golden, list):
        if len(golden) != len(observed):
            yield _say(path, f"expected {len(golden)} items, got {len(observed)}")
            return
        for index, (one, other) in enumerate(zip(golden, observed, strict=True)):
            yield from _pairs(one, other, tolerance, similarity, f"{path}[{index}]")
    elif golden != observed:
        yield _say(path, f"expected {_shown(golden)}, got {_shown(observed)}")


def _differs(pair: _Pair) -> str | None:
    """Return a description of the difference between the values of a pair, or None if they agree within the bounds."""
    golden, observed, tolerance, similarity, path = pair
    if isinstance(golden, Array):
        return _arrays_differ(golden, observed, tolerance, path)
    if isinstance(golden, float):
        if _floats_close(golden, _as_float(observed), tolerance.rtol, tolerance.atol):
            return None
        return _say(path, f"expected {golden!r}, got {_shown(observed)}")
    assert similarity is not None
    if similar(golden, observed, similarity):
        return None
    wanted = f"a text with a similarity of {similarity.threshold:g} to {_shown(golden)}"
    return _say(path, f"expected {wanted}, got {_shown(observed)}")


def _factor(pair: _Pair) -> float:
    """Return the smallest f such that the values of a pair agree within f times the tolerance."""
    golden, observed, tolerance, similarity, _ = pair
    if isinstance(golden, Array):
        coarse = _COARSE.get(golden.dtype, 0.0)
        return _array_factor(golden.values, observed.values, tolerance, coarse)
    if isinstance(golden, float):
        return _float_factor(golden, _as_float(observed), tolerance)
    assert similarity is not None
    return _text_factor(golden, observed, similarity)


def _array_factor(golden: Any, observed: Any, tolerance: Tolerance, coarse: float) -> float:
    """Return the smallest f such that all elements agree within f times the tolerance.

    Finite elements agree if their distance is at most f * atol + max(f * rtol, coarse) * |golden|.
    """
    if golden.dtype.kind not in "fc":
        return 0.0 if np.array_equal(golden, observed) else math.inf
    wide = np.result_type(golden, np.float64)
    golden, observed = golden.astype(wide), observed.astype(wide)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        size, distance = np.abs(golden), np.abs(observed - golden)
        excess = np.maximum(distance - coarse * size, 0.0)
        by_atol = np.where(excess == 0, 0.0, excess / tolerance.atol)
        factors = np.minimum(distance / (tolerance.atol + tolerance.rtol * size), by_atol)
    factors = np.where(np.isfinite(golden), np.nan_to_num(factors, nan=np.inf, posinf=np.inf), np.inf)
    same = (golden == observed) | (np.isnan(golden) & np.isnan(observed))
    return float(np.max(factors, initial=0.0, where=~same))


def _float_factor(golden: float, observed: float, tolerance: Tolerance) -> float:
    """Return the result of `_array_factor` for two Python numbers, without creating arrays."""
    if golden == observed or (math.isnan(golden) and math.isnan(observed)):
        return 0.0
    if not (math.isfinite(golden) and math.isfinite(observed)):
        return math.inf
    allowed = tolerance.atol + tolerance.rtol * abs(golden)
    return abs(observed - golden) / allowed if allowed else math.inf


def _text_factor(golden: str, observed: str, similarity: Similarity) -> float:
    """Return the smallest f such that two texts agree within f times `1 - threshold`, accurate to 2%."""

    def agree(factor: float) -> bool:
        return similar(golden, observed, similarity.scaled(factor))

    low, high = _LEAST_MARGIN, _MOST_MARGIN
    if agree(low):
        return low
    if not agree(high):
        return math.inf
    while high > 1.02 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if agree(middle) else (middle, high)
    return high


def _keys_differ(golden: dict[Any, Any], observed: dict[Any, Any], path: str) -> str | None:
    if absent := [key for key in golden if key not in observed]:
        return _say(path, f"the key {absent[0]!r} is missing")
    if extra := [key for key in observed if key not in golden]:
        return _say(path, f"the key {_shown(extra[0])} is not expected")
    return None


def _forms_differ(golden: Array, observed: Any, path: str) -> str | None:
    """Return a description of the difference in kind (tensor or array), dtype or shape; None if there is none."""
    if not isinstance(observed, Array) or observed.library != golden.library:
        return _say(path, f"expected {_kind(golden)}, got {_kind(observed)}")
    if observed.dtype != golden.dtype or observed.values.dtype != golden.values.dtype:
        return _say(path, f"expected dtype {golden.dtype}, got {_shown(observed.dtype)}")
    if observed.values.shape != golden.values.shape:
        return _say(path, f"expected shape {golden.values.shape}, got {observed.values.shape}")
    return None


def _arrays_differ(golden: Array, observed: Array, tolerance: Tolerance, path: str) -> str | None:
    if golden.values.dtype.kind not in "fc":
        wrong = golden.values != observed.values
    else:
        coarse = _COARSE.get(golden.dtype, 0.0)
        wrong = ~_close(golden.values, observed.values, max(tolerance.rtol, coarse), tolerance.atol)
    count = int(np.count_nonzero(wrong))
    if not count:
        return None
    if golden.values.ndim == 0:
        return _say(path, f"expected {_number(golden.values)}, got {_number(observed.values)}")
    place, largest = _largest_difference(golden.values, observed.values, wrong)
    where = ", ".join(str(index) for index in place)
    return _say(
        path,
        f"{count} of {golden.values.size} elements differ, largest {largest:.3g} at [{where}]; "
        f"expected {_number(golden.values[place])}, got {_number(observed.values[place])}",
    )


def _close(golden: Any, observed: Any, rtol: float, atol: float) -> Any:
    wide = np.result_type(golden, np.float64)
    golden, observed = golden.astype(wide), observed.astype(wide)
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.isfinite(golden) & (np.abs(observed - golden) <= atol + rtol * np.abs(golden))
    return near | (golden == observed) | (np.isnan(golden) & np.isnan(observed))


def _floats_close(golden: float, observed: float, rtol: float, atol: float) -> bool:
    """Return the result of `_close` for two Python numbers, without creating arrays."""
    if math.isfinite(golden):
        return abs(observed - golden) <= atol + rtol * abs(golden)
    return golden == observed or (math.isnan(golden) and math.isnan(observed))


def _largest_difference(golden: Any, observed: Any, wrong: Any) -> tuple[tuple[int, ...], float]:
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.abs(observed.astype(np.complex128) - golden.astype(np.complex128))
    # A NaN on just one side counts as the largest difference.
    distance = np.where(wrong, np.nan_to_num(distance, nan=np.inf), -1.0)
    place = tuple(int(index) for index in np.unravel_index(int(np.argmax(distance)), distance.shape))
    return place, float(distance[place])


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _number(value: Any) -> str:
    return f"{value.item():.6g}" if value.dtype.kind in "fc" else str(value.item())


def _kind(value: Any) -> str:
    if isinstance(value, Array):
        name = {"torch": "tensor", "numpy": "array"}.get(value.library, _shown(value.library))
        return f"a {_shown(value.dtype).strip(chr(39))} {name} of shape {value.values.shape}"
    return "None" if value is None else f"{type(value).__name__} {_shown(value)}"


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:
        # Python refuses to print integers of thousands of digits.
        text = f"an integer of {value.bit_length()} bits" if isinstance(value, int) else f"a {type(value).__name__}"
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 3]}..."


def _say(path: str, message: str) -> str:
    return f"{path}: {message}" if path else message
