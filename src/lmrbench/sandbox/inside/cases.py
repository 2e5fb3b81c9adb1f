"""Encode cases in the process that draws them, and restore them in the process that runs the candidate.

Cases are the inputs that a check draws from a seed. A candidate is the code to grade. A case may contain any value that
an observation (a result) may contain (see `encoding`), as well as tuples, sets and dtypes. Dict keys may be of any of
these types. Decoding restores the original types. Tensors and arrays keep their strides and `requires_grad`, and a
tensor or array that occurs several times is restored as one object.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
from safetensors.numpy import load

from .encoding import Encoder, as_complex

_Array = np.ndarray[Any, Any]


class _CaseEncoder(Encoder):
    def __init__(self) -> None:
        super().__init__()
        # The JSON node of each array or tensor, by the object's id. The object is stored as well, because the id of a
        # freed object could be given to another one.
        self._known: dict[int, tuple[Any, dict[str, Any]]] = {}

    def encode(self, value: Any, path: str, depth: int) -> Any:
        if isinstance(value, (tuple, set, frozenset)):
            return {type(value).__name__: [self.encode(item, path, depth + 1) for item in value]}
        torch = sys.modules.get("torch")
        if isinstance(value, np.dtype) or (torch is not None and isinstance(value, torch.dtype)):
            return {"dtype": f"numpy.{value.name}" if isinstance(value, np.dtype) else str(value)}
        if isinstance(value, dict):
            items = [
                [self.encode(key, path, depth + 1), self.encode(item, f"{path}.{key}", depth + 1)]
                for key, item in value.items()
            ]
            return {"dict": items}
        return super().encode(value, path, depth)

    def array(self, value: Any, path: str) -> dict[str, Any]:
        if id(value) not in self._known:
            node = super().array(value, path)
            node["strides"] = _strides(value)
            node["scalar"] = isinstance(value, np.generic)
            node["grad"] = bool(getattr(value, "requires_grad", False))
            self._known[id(value)] = (value, node)
        return self._known[id(value)][1]


def ordinary_first(cases: Iterable[Any]) -> list[Any]:
    """Return the ordinary cases in their order, then the edge cases, which have a true entry `edge`.

    This way, all ordinary cases have run by the time grading stops at a failed edge case.
    """
    return sorted(cases, key=lambda case: isinstance(case, dict) and bool(case.get("edge")))


def encode_cases(cases: list[Any]) -> bytes:
    """Encode cases as bytes, from which `restore_cases` restores them.

    Raises:
        TypeError: A value has a type that can't be encoded, or there are too many values; the message gives the path.
    """
    encoder = _CaseEncoder()
    return encoder.packed(encoder.encode(cases, "cases", 0))


def restore_cases(payload: bytes) -> list[Any]:
    """Return the cases that `encode_cases` encoded, with all values in their original types."""
    arrays = load(payload)
    tree = json.loads(arrays.pop("tree").tobytes().decode("utf-8", "surrogatepass"))
    restored: list[Any] = _Restorer(arrays).restore(tree)
    return restored


class _Restorer:
    def __init__(self, arrays: dict[str, _Array]) -> None:
        self.arrays = arrays
        self.made: dict[str, Any] = {}

    def restore(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self.restore(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "dict" in node:
            return {self.restore(key): self.restore(item) for key, item in node["dict"]}
        if "int" in node:
            return int(node["int"], 16)
        if "bytes" in node:
            return base64.b64decode(node["bytes"])
        if "dtype" in node and "array" not in node:
            return _dtype(node["dtype"])
        for kind in (tuple, set, frozenset):
            if kind.__name__ in node:
                return kind(map(self.restore, node[kind.__name__]))
        name = node["array"]
        if name not in self.made:
            self.made[name] = _restored(self.arrays[name], node)
        return self.made[name]


def _restored(values: _Array, node: dict[str, Any]) -> Any:
    dtype = node["dtype"]
    if dtype.startswith("complex"):
        values = as_complex(values)
    # A copy, because arrays loaded by safetensors are read-only.
    values = values.copy()
    if node["library"] == "torch":
        import torch

        tensor = torch.from_numpy(values).to(getattr(torch, dtype))
        if node["strides"] is not None:
            tensor = _laid_out(tensor, node["strides"], lambda count: torch.zeros(count, dtype=tensor.dtype), _view)
        return tensor.requires_grad_() if node["grad"] else tensor
    if node["scalar"]:
        return values[()]
    if node["strides"] is not None:
        return _laid_out(values, node["strides"], lambda count: np.zeros(count, values.dtype), _view_of_array)
    return values


def _dtype(name: str) -> Any:
    library, _, kind = name.partition(".")
    if library == "numpy":
        return np.dtype(kind)
    import torch

    return getattr(torch, kind)


def _strides(value: Any) -> list[int] | None:
    """Return the strides of an array or tensor in elements, or None if it is contiguous."""
    if isinstance(value, np.ndarray):
        return None if value.flags.c_contiguous else [step // value.itemsize for step in value.strides]
    if isinstance(value, np.generic) or value.is_contiguous():
        return None
    return list(value.stride())


def _laid_out(values: Any, strides: list[int], zeros: Any, view: Any) -> Any:
    """Return a copy of an array or tensor with these strides, which are in elements."""
    shape = list(values.shape)
    if 0 in shape:
        return view(zeros(1), shape, strides, 0)
    start = sum((1 - size) * step for size, step in zip(shape, strides, strict=True) if step < 0)
    end = sum((size - 1) * step for size, step in zip(shape, strides, strict=True) if step > 0)
    memory = zeros(start + end + 1)
    # Along an axis with stride 0, all entries are the same element in memory.
    single = [1 if step == 0 else size for size, step in zip(shape, strides, strict=True)]
    view(memory, single, strides, start)[...] = values[tuple(slice(0, size) for size in single)]
    return view(memory, shape, strides, start)


def _view(memory: Any, shape: list[int], strides: list[int], start: int) -> Any:
    return memory.as_strided(shape, strides, start)


def _view_of_array(memory: _Array, shape: list[int], strides: list[int], start: int) -> _Array:
    steps = [step * memory.itemsize for step in strides]
    return np.lib.stride_tricks.as_strided(memory[start:], shape, steps)
