"""Observations leave a sandbox unchanged, and no other data is decoded."""

import json
import math
import pickle
import struct
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from lmrbench.grading.compare import compare
from lmrbench.sandbox.inside.encoding import MAX_DEPTH, Array, decode, encode
from lmrbench.tasks.bounds import Bounds, Tolerance

torch = pytest.importorskip("torch", reason="NOT TESTED: torch is not installed")


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -(2**80),
        10**5000,
        0.1,
        -0.0,
        math.inf,
        "",
        "naïve \ud800 text",
        b"",
        bytes(range(256)),
        [],
        {},
        {"a": [1, [2.5, {"b": None}]], 3: "x"},
    ],
    ids=lambda value: str(type(value).__name__),
)
def test_plain_values_survive(value):
    assert decode(encode(value)) == value
    assert type(decode(encode(value))) is type(value)


def test_nan_survives():
    assert math.isnan(decode(encode(math.nan)))


def test_a_tuple_arrives_as_a_list():
    assert decode(encode((1, (2, 3)))) == [1, [2, 3]]


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "bfloat16", "float8_e5m2", "int8", "int64", "uint16", "bool"]
)
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3,), (2, 3)])
def test_tensors_survive_with_dtype_and_shape(dtype, shape):
    tensor = torch.arange(math.prod(shape), dtype=torch.float32).reshape(shape).to(getattr(torch, dtype))
    array = decode(encode({"x": tensor}))["x"]
    assert (array.library, array.dtype, array.values.shape) == ("torch", dtype, shape)
    assert array.values.astype(np.float64).tolist() == tensor.to(torch.float64).tolist()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_arrays_survive(dtype):
    values = np.array([[1 + 2j, -3.5j]], dtype=dtype)
    for array in (decode(encode(values)), decode(encode(torch.from_numpy(values)))):
        assert array.dtype == dtype
        assert array.values.tolist() == values.tolist()


@pytest.mark.parametrize(
    "values",
    [
        np.arange(6, dtype=">i4").reshape(2, 3),
        np.arange(12.0).reshape(3, 4).T,
        np.arange(10)[::-2],
        np.float32(2.5),
        np.array(True),
    ],
    ids=["big_endian", "transposed", "negative_stride", "scalar", "zero_dimensional"],
)
def test_arrays_of_any_layout_survive(values):
    array = decode(encode(values))
    assert array.library == "numpy"
    assert array.values.tolist() == values.tolist()
    assert array.values.shape == values.shape


def test_special_floats_survive_bit_for_bit():
    values = np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324, np.finfo(np.float64).max])
    assert decode(encode(values)).values.tobytes() == values.tobytes()


def test_a_tensor_that_needs_gradients_arrives_as_its_values():
    tensor = (torch.ones(2, requires_grad=True) * 3).conj()
    assert decode(encode(tensor)).values.tolist() == [3.0, 3.0]


class Lazy:
    def __array__(self):
        return np.ones(3)


class Equal:
    def __eq__(self, other):
        return True

    __hash__ = None  # type: ignore[assignment]


def _recursive():
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Lazy(), "Lazy is not plain data"),
        (Equal(), "Equal is not plain data"),
        ({1, 2}, "set is not plain data"),
        (iter([1]), "iterator is not plain data"),
        (1j, "complex is not plain data"),
        ({(1, 2): 3}, "a key is of type tuple"),
        (_recursive(), "contains itself"),
        ([0] * 1_000_001, "more than 1,000,000 values"),
        (np.array(["a"]), "an array of <U1"),
        (np.array([object()]), "an array of object"),
        (torch.eye(2).to_sparse(), "sparse"),
    ],
)
def test_what_is_not_plain_data_is_refused_with_its_place(value, words):
    with pytest.raises(TypeError, match=words) as error:
        encode({"losses": [value]})
    assert "observation.losses[0]" in str(error.value)


def _with_tree(tree, **arrays):
    return save({"tree": np.frombuffer(json.dumps(tree).encode(), dtype=np.uint8), **arrays})


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\0" * 7,
        struct.pack("<Q", 2**60) + b"{}",
        struct.pack("<Q", 2) + b"{}",
        pickle.dumps([1, 2]),
        save({"x": np.ones(3)}),
        save({"tree": np.ones(3)}),
        _with_tree({"array": "absent", "library": "torch", "dtype": "float32"}),
        _with_tree({"array": "0"}, **{"0": np.ones(2)}),
        _with_tree({"array": ["0"], "library": "torch", "dtype": "x"}),
        _with_tree({"array": "0", "library": "torch", "dtype": "complex64"}, **{"0": np.ones(())}),
        _with_tree({"dict": [[["unhashable"], 1]]}),
        _with_tree({"dict": 3}),
        _with_tree({"int": "no"}),
        _with_tree({"bytes": "*"}),
        _with_tree({"unknown": 1}),
        save({"tree": np.frombuffer(b"[" * 100_000, dtype=np.uint8)}),
        save({"tree": np.frombuffer(b"[" * (MAX_DEPTH + 2) + b"]" * (MAX_DEPTH + 2), dtype=np.uint8)}),
        save({"tree": np.full(9 << 20, ord(" "), dtype=np.uint8)}),
    ],
)
def test_hostile_bytes_are_a_value_error_and_nothing_worse(payload):
    with pytest.raises(ValueError, match="not an encoded observation"):
        decode(payload)


PAYLOAD = encode({"x": torch.ones(3), "n": [1, 2.5, "s"]})


def test_every_truncation_of_a_payload_is_refused():
    for length in range(len(PAYLOAD)):
        with pytest.raises(ValueError, match="not an encoded observation"):
            decode(PAYLOAD[:length])


def test_a_payload_with_any_bit_flipped_is_refused_or_decodes_to_another_value():
    exact = Bounds(Tolerance(rtol=0, atol=0))
    for place in range(len(PAYLOAD)):
        for bit in range(8):
            changed = bytearray(PAYLOAD)
            changed[place] ^= 1 << bit
            try:
                value = decode(bytes(changed))
            except ValueError:
                continue
            assert compare(decode(PAYLOAD), value, exact) is not None, (place, bit)


def test_arrays_are_named_tuples_of_what_was_seen():
    assert decode(encode(torch.tensor(2))) == Array("torch", "int64", np.array(2))


def payload_of(tree, **arrays):
    text = np.frombuffer(json.dumps(tree).encode(), dtype=np.uint8)
    return save({**arrays, "tree": text})


def test_an_array_that_is_referred_to_twice_is_refused():
    # Few bytes would become many: each mention of a complex array used to make a new one.
    node = {"array": "0", "library": "torch", "dtype": "complex64"}
    assert decode(payload_of([node], **{"0": np.zeros((9, 2), np.float32)}))[0].values.shape == (9,)
    with pytest.raises(ValueError, match="not an encoded observation"):
        decode(payload_of([node, node], **{"0": np.zeros((9, 2), np.float32)}))


@pytest.mark.parametrize("values", [[0] * 1_000_001, [[]] * 1_000_001], ids=["numbers", "lists"])
def test_more_values_than_an_observation_may_hold_are_refused(values):
    with pytest.raises(ValueError, match="more than 1,000,000 values"):
        decode(payload_of(values))


@pytest.mark.parametrize("shape", [(3,), (3, 3), ()])
def test_complex_numbers_that_are_no_pairs_are_refused(shape):
    node = {"array": "0", "library": "numpy", "dtype": "complex64"}
    with pytest.raises(ValueError, match="not an encoded observation"):
        decode(payload_of(node, **{"0": np.zeros(shape, np.float32)}))


def test_a_decoded_array_shares_the_bytes_that_arrived():
    payload = encode(torch.ones(1000, dtype=torch.complex64))
    assert decode(payload).values.base is not None
