"""Drawn cases reach `observe` unchanged, including types, layouts, gradients and shared objects."""

import math

import numpy as np
import pytest

from lmrbench.sandbox.inside.cases import encode_cases, restore_cases

torch = pytest.importorskip("torch", reason="NOT TESTED: torch is not installed")


def restored(case):
    (found,) = restore_cases(encode_cases([case]))
    return found


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        2**70,
        -0.0,
        math.inf,
        "naïve \ud800 text",
        b"\0\xff",
        (1, [2, (3, {})]),
        {"a": (None,), 3: frozenset({"x", "y"})},
        {1, 2},
        {(1, "a"): 2, None: 3, 0.5: 4},
        torch.bfloat16,
        np.dtype("int16"),
        [],
        (),
    ],
    ids=lambda value: type(value).__name__,
)
def test_plain_values_come_back_with_their_types(value):
    found = restored(value)
    assert found == value
    assert type(found) is type(value)


BASE = torch.arange(24.0).reshape(4, 6)
LAYOUTS = {
    "row after row": BASE,
    "transposed": BASE.T,
    "every second column": BASE[:, ::2],
    "expanded": BASE[:1].expand(5, 6),
    "expanded within": torch.arange(3.0)[:, None].expand(3, 4),
    "windows that overlap": torch.arange(6.0).unfold(0, 3, 1),
    "a number": torch.tensor(3.5),
    "empty": torch.zeros(0, 3),
    "empty and transposed": torch.zeros(3, 0).T,
    "half precision": BASE.to(torch.bfloat16).T,
    "complex": torch.complex(BASE, -BASE).T,
    "float8": BASE.to(torch.float8_e5m2),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_tensors_come_back_with_dtype_values_and_strides(name):
    tensor = LAYOUTS[name]
    found = restored({"x": tensor})["x"]
    assert (found.dtype, found.shape) == (tensor.dtype, tensor.shape)
    assert found.is_contiguous() == tensor.is_contiguous()
    if not tensor.is_contiguous():
        assert found.stride() == tensor.stride()
    wide = torch.complex128 if tensor.is_complex() else torch.float64
    assert torch.equal(found.to(wide), tensor.to(wide))


@pytest.mark.parametrize("grad", [True, False])
def test_a_leaf_that_requires_gradients_comes_back_as_one(grad):
    found = restored(torch.ones(2, requires_grad=grad))
    assert found.requires_grad is grad
    assert found.is_leaf


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6).reshape(2, 3).T,
        np.arange(6)[::-1],
        np.broadcast_to(np.arange(3.0), (4, 3)),
        np.zeros((0, 2)),
        np.array(3),
        np.arange(4, dtype=np.uint8),
        np.array([1 + 2j]),
    ],
    ids=lambda array: f"{array.dtype} {array.shape}",
)
def test_arrays_come_back_with_dtype_values_and_strides(array):
    found = restored([array])[0]
    assert (type(found), found.dtype, found.shape) == (np.ndarray, array.dtype, array.shape)
    if not array.flags.c_contiguous:
        assert found.strides == array.strides
    assert np.array_equal(found, array)


def test_a_number_of_numpy_comes_back_as_one():
    found = restored(np.float32(0.1))
    assert type(found) is np.float32
    assert found == np.float32(0.1)


def test_an_object_that_is_there_twice_is_one_object_again():
    tensor, array = torch.ones(2), np.ones(2)
    first, second = restore_cases(encode_cases([{"a": tensor, "b": [tensor], "c": torch.ones(2)}, (array, array)]))
    assert first["a"] is first["b"][0]
    assert first["a"] is not first["c"]
    assert second[0] is second[1]


def test_what_comes_back_may_be_changed_and_shares_nothing():
    expanded, plain = restored([LAYOUTS["every second column"], BASE])
    expanded += 1
    plain += 1
    assert torch.equal(plain, BASE + 1)
    assert torch.equal(expanded, BASE[:, ::2] + 1)


@pytest.mark.parametrize("value", [object(), {"a": [lambda: 1]}, torch.zeros(2).to_sparse()])
def test_what_is_no_plain_data_is_refused_with_its_place(value):
    with pytest.raises(TypeError, match=r"^cases\[0\].*not plain data"):
        encode_cases([value])
