"""Encode observations as plain data, the only form in which they leave the sandbox. Nothing is pickled.

An observation is the result of one case of a check. Plain data is a tree of dicts and lists whose leaves are tensors,
arrays, numbers, strings, bytes, booleans and None. An observation is encoded as one safetensors file: the tree as JSON
in the tensor `tree`, and each leaf array in a tensor of its own. Arrays of a dtype that numpy lacks (bfloat16, float8)
are stored as float32, and complex arrays as pairs of reals, both without loss. The candidate (the code to grade) may
have forged the bytes, so decoding does not trust them. The number of bytes limits the size of the decoded value.
"""

from __future__ import annotations

import base64
import json
import sys
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import load, save

MAX_DEPTH = 32
MAX_NODES = 1_000_000
MAX_TREE_BYTES = 8 << 20


class Array(NamedTuple):
    """A tensor or array in an observation.

    Attributes:
        library: The library that the tensor or array came from, `torch` or `numpy`.
        dtype: The name of its dtype in that library.
        values: Its values as a numpy array.
    """

    library: str
    dtype: str
    values: np.ndarray[Any, Any]


class Encoder:
    """Turns a value into a JSON tree, and collects the arrays that the tree refers to."""

    def __init__(self) -> None:
        """Start with no arrays."""
        self.arrays: dict[str, np.ndarray[Any, Any]] = {}
        self.nodes = 0

    def encode(self, value: Any, path: str, depth: int) -> Any:
        """Return the node of the tree that represents a value.

        Args:
            value: The value to encode.
            path: The path to the value, such as `observation[0].loss`, for error messages.
            depth: The depth at which the value is nested.

        Raises:
            TypeError: A value is not plain data or is nested too deeply, or there are too many values.
        """
        self.nodes += 1
        if depth > MAX_DEPTH:
            raise TypeError(f"{path}: nested deeper than {MAX_DEPTH} levels, or contains itself")
        if self.nodes > MAX_NODES:
            raise TypeError(f"{path}: more than {MAX_NODES:,} values")
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, int):
            return int(value) if abs(value) < 1 << 53 else {"int": hex(value)}
        if isinstance(value, float):
            return float(value)
        if isinstance(value, bytes):
            return {"bytes": base64.b64encode(value).decode("ascii")}
        if isinstance(value, (list, tuple)):
            return [self.encode(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)]
        if isinstance(value, dict):
            return {"dict": [self._item(key, item, path, depth) for key, item in value.items()]}
        return self.array(value, path)

    def packed(self, tree: Any) -> bytes:
        """Return the bytes of a tree and the arrays that it refers to."""
        text = json.dumps(tree, separators=(",", ":")).encode("utf-8", "surrogatepass")
        return save({**self.arrays, "tree": np.frombuffer(text, dtype=np.uint8)})

    def _item(self, key: Any, value: Any, path: str, depth: int) -> list[Any]:
        if not isinstance(key, (str, int)):
            raise TypeError(f"{path}: a key is of type {type(key).__name__}; keys are strings or integers")
        return [key, self.encode(value, f"{path}.{key}", depth + 1)]

    def array(self, value: Any, path: str) -> dict[str, Any]:
        """Return the node of the tree that represents a tensor or array, and store its values in `arrays`.

        Raises:
            TypeError: The value is neither a tensor nor an array, or its dtype can't be encoded.
        """
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor):
            library, dtype, values = "torch", str(value.dtype).removeprefix("torch."), _from_torch(value, path, torch)
        elif isinstance(value, (np.ndarray, np.generic)):
            library, dtype, values = "numpy", str(value.dtype), np.asarray(value)
        else:
            raise TypeError(f"{path}: a {type(value).__name__} is not plain data")
        if values.dtype.kind == "c":
            values = np.stack([values.real, values.imag], axis=-1)
        if values.dtype.kind not in "biuf" or values.dtype.itemsize > 8:
            raise TypeError(f"{path}: an array of {dtype} is not plain data")
        key = str(len(self.arrays))
        self.arrays[key] = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("=")).reshape(values.shape)
        return {"array": key, "library": library, "dtype": dtype}


def _from_torch(tensor: Any, path: str, torch: Any) -> np.ndarray[Any, Any]:
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise TypeError(f"{path}: a sparse or quantized tensor is not plain data")
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    if tensor.dtype.is_floating_point and tensor.dtype not in (torch.float16, torch.float32, torch.float64):
        tensor = tensor.to(torch.float32)
    values: np.ndarray[Any, Any] = tensor.numpy()
    return values


def encode(observation: Any) -> bytes:
    """Encode one observation.

    Raises:
        TypeError: A value is not plain data or is nested too deeply, or there are too many; the message gives the path.
    """
    encoder = Encoder()
    return encoder.packed(encoder.encode(observation, "observation", 0))


def decode(payload: bytes) -> Any:
    """Return the observation that `encode` wrote, with every tensor and array as an `Array`.

    Raises:
        ValueError: The bytes are not an encoded observation.
    """
    try:
        arrays = load(payload)
        text = arrays.pop("tree").tobytes()
        if len(text) > MAX_TREE_BYTES:
            raise ValueError(f"a tree of {len(text)} bytes is over the limit of {MAX_TREE_BYTES}")
        return _Decoder(arrays).decode(json.loads(text.decode("utf-8", "surrogatepass")), 0)
    except (AttributeError, IndexError, KeyError, TypeError, RecursionError, OverflowError) as error:
        raise ValueError(f"not an encoded observation: {error!r}") from error
    except Exception as error:
        # The error class of safetensors derives from Exception directly.
        raise ValueError(f"not an encoded observation: {error}") from error


class _Decoder:
    """Decodes a tree. To limit the result's size, it creates at most `MAX_NODES` values and uses each array once."""

    def __init__(self, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        self.arrays = arrays
        self.nodes = 0

    def decode(self, node: Any, depth: int) -> Any:
        self.nodes += 1
        if depth > MAX_DEPTH:
            raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
        if self.nodes > MAX_NODES:
            raise ValueError(f"more than {MAX_NODES:,} values")
        if isinstance(node, list):
            return [self.decode(item, depth + 1) for item in node]
        if not isinstance(node, dict):
            return node
        if "dict" in node:
            return {key: self.decode(item, depth + 1) for key, item in node["dict"]}
        if "int" in node:
            return int(node["int"], 16)
        if "bytes" in node:
            return base64.b64decode(node["bytes"], validate=True)
        # `encode` refers to each array once. A second reference must be forged, and raises KeyError here.
        values, library, dtype = self.arrays.pop(node["array"]), str(node["library"]), str(node["dtype"])
        return Array(library, dtype, as_complex(values) if dtype.startswith("complex") else values)


def as_complex(pairs: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Convert an array whose last axis consists of a real and an imaginary part to complex numbers.

    The result shares memory with `pairs` unless `pairs` has half precision or is not contiguous.

    Raises:
        ValueError: The last axis does not have two entries, or the entries are not floating-point numbers.
    """
    wide = pairs if pairs.dtype.itemsize >= 4 else pairs.astype(np.float32)
    if wide.dtype.kind != "f" or wide.shape[-1] != 2:
        raise ValueError("complex numbers are not pairs of reals")
    return np.ascontiguousarray(wide).view(np.complex64 if wide.dtype.itemsize == 4 else np.complex128)[..., 0]
