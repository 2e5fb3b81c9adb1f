"""Compare the observations of a candidate with those of the reference.

This runs outside of every sandbox, on decoded data. Floats agree within the tolerance, and NaN equals NaN. Infinities
and everything else, including shapes and dtypes, must be equal. A Python int is accepted as a float. Texts must be
equal, or as similar as the task requires.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from lmrbench.grading.similarity import similar
from lmrbench.sandbox.inside.encoding import Array
from lmrbench.tasks.bounds import Bounds, Similarity, Tolerance

# The least relative tolerance for types of low precision. A smaller tolerance of a task does not apply to them.
_COARSE = {"float16": 1e-3, "bfloat16": 1.6e-2, "float8_e4m3fn": 0.13, "float8_e5m2": 0.26}
_MAX_SHOWN = 80


def compare(golden: Any, observed: Any, bounds: Bounds) -> str | None:
    """Return a description of the first difference, or None if the observations agree.

    Args:
        golden: the reference's observation, decoded.
        observed: the candidate's observation, decoded.
        bounds: the tolerances and similarities within which the observations agree.

    Raises:
        SandboxError: the model of a similarity cannot be loaded.
    """
    if not isinstance(golden, dict) or not isinstance(observed, dict):
        return _differs(golden, observed, bounds.tolerance, None, "")
    return _keys_differ(golden, observed, "") or _first(
        _differs(
            golden[key],
            observed[key],
            bounds.tolerances.get(str(key), bounds.tolerance),
            bounds.similarities.get(str(key)),
            str(key),
        )
        for key in golden
    )


def margin(golden: Any, observed: Any, bounds: Bounds) -> float | None:
    """Return the smallest multiple of the tolerance at which the observations agree, at least 1e-6.

    For texts, the tolerance is the distance of the threshold from 1: with a threshold of 0.9, texts with a similarity
    of 0.8 have a margin of 2. Returns None if the observations differ in type or shape, or by more than 1e6 times the
    tolerance. The arguments are those of `compare`.
    """

    def agree(factor: float) -> bool:
        similarities = {key: item.scaled(factor) for key, item in bounds.similarities.items()}
        scaled = replace(bounds.with_tolerances_scaled(factor), similarities=similarities)
        return compare(golden, observed, scaled) is None

    low, high = 1e-6, 1e6
    if agree(low):
        return low
    if not agree(high):
        return None
    while high > 1.02 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if agree(middle) else (middle, high)
    return high


def _differs(golden: Any, observed: Any, tolerance: Tolerance, similarity: Similarity | None, path: str) -> str | None:
    if isinstance(golden, Array):
        return _arrays_differ(golden, observed, tolerance, path)
    if isinstance(golden, float) and isinstance(observed, (int, float)) and not isinstance(observed, bool):
        if _floats_close(golden, _as_float(observed), tolerance.rtol, tolerance.atol):
            return None
        return _say(path, f"expected {golden!r}, got {_shown(observed)}")
    if similarity and isinstance(golden, str) and isinstance(observed, str):
        if similar(golden, observed, similarity):
            return None
        wanted = f"a text with a similarity of {similarity.threshold:g} to {_shown(golden)}"
        return _say(path, f"expected {wanted}, got {_shown(observed)}")
    if type(golden) is not type(observed):
        return _say(path, f"expected {_kind(golden)}, got {_kind(observed)}")
    if isinstance(golden, dict):
        return _keys_differ(golden, observed, path) or _first(
            _differs(golden[key], observed[key], tolerance, similarity, f"{path}.{key}") for key in golden
        )
    if isinstance(golden, list):
        if len(golden) != len(observed):
            return _say(path, f"expected {len(golden)} items, got {len(observed)}")
        return _first(
            _differs(one, other, tolerance, similarity, f"{path}[{index}]")
            for index, (one, other) in enumerate(zip(golden, observed, strict=True))
        )
    return None if golden == observed else _say(path, f"expected {_shown(golden)}, got {_shown(observed)}")


def _keys_differ(golden: dict[Any, Any], observed: dict[Any, Any], path: str) -> str | None:
    if absent := [key for key in golden if key not in observed]:
        return _say(path, f"the key {absent[0]!r} is missing")
    if extra := [key for key in observed if key not in golden]:
        return _say(path, f"the key {_shown(extra[0])} is not expected")
    return None


def _arrays_differ(golden: Array, observed: Any, tolerance: Tolerance, path: str) -> str | None:
    if not isinstance(observed, Array) or observed.library != golden.library:
        return _say(path, f"expected {_kind(golden)}, got {_kind(observed)}")
    if observed.dtype != golden.dtype or observed.values.dtype != golden.values.dtype:
        return _say(path, f"expected dtype {golden.dtype}, got {_shown(observed.dtype)}")
    if observed.values.shape != golden.values.shape:
        return _say(path, f"expected shape {golden.values.shape}, got {observed.values.shape}")
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


def _first(differences: Any) -> str | None:
    return next((difference for difference in differences if difference), None)
