"""Observations agree within the tolerance, and a difference is described in words."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmrbench.grading.compare import compare, margin
from lmrbench.sandbox.inside.encoding import decode, encode
from lmrbench.tasks.bounds import Bounds, Tolerance

torch = pytest.importorskip("torch", reason="NOT TESTED: torch is not installed")

TOLERANCE = Tolerance(rtol=1e-5, atol=1e-6)


def _kind_of(value):
    return type(value).__name__


def difference(golden, observed, tolerances=None):
    return compare(decode(encode(golden)), decode(encode(observed)), Bounds(TOLERANCE, tolerances or {}))


@pytest.mark.parametrize(
    ("golden", "observed"),
    [
        (1.0, 1.0 + 9e-6),
        (1.0, 1),
        (float("nan"), float("nan")),
        (float("-inf"), float("-inf")),
        ({"a": 1, "b": [True, None, "x", b"y"]}, {"b": [True, None, "x", b"y"], "a": 1}),
        (torch.tensor([1.0, float("nan"), float("inf")]), torch.tensor([1.0 + 5e-6, float("nan"), float("inf")])),
        (torch.tensor([1.0], dtype=torch.bfloat16), torch.tensor([1.0078125], dtype=torch.bfloat16)),
        (np.array([1 + 1j]), np.array([1 + 1j + 1e-6])),
        (torch.zeros(0, 3), torch.zeros(0, 3)),
        (1 << 20_000, 1 << 20_000),
    ],
    ids=_kind_of,
)
def test_what_agrees(golden, observed):
    assert difference(golden, observed) is None


@pytest.mark.parametrize(
    ("golden", "observed", "reason"),
    [
        (1.0, 1.001, "expected 1.0, got 1.001"),
        (1.0, True, "expected float 1.0, got bool True"),
        (1, 1.0, "expected int 1, got float 1.0"),
        (0, False, "expected int 0, got bool False"),
        (float("nan"), 0.0, "expected nan, got 0.0"),
        (0.0, float("nan"), "expected 0.0, got nan"),
        (float("inf"), float("-inf"), "expected inf, got -inf"),
        (1.0, 10**400, "got 1000"),
        (1.0, 1 << 20_000, "got an integer of 20001 bits"),
        (None, 0, "expected None, got int 0"),
        ("a", "b", "expected 'a', got 'b'"),
        ([1, 2], [1], "expected 2 items, got 1"),
        ([1, [2, 3]], [1, [2, 4]], "[1][1]: expected 3, got 4"),
        ({"a": 1}, {}, "the key 'a' is missing"),
        ({"a": 1}, {"a": 1, "b": 2}, "the key 'b' is not expected"),
        (1 << 20_000, 1 << 20_001, "expected an integer of 20001 bits, got an integer of 20002 bits"),
        (torch.ones(2), [1.0, 1.0], "expected a float32 tensor of shape (2,), got list [1.0, 1.0]"),
        (torch.ones(2), np.ones(2, dtype=np.float32), "got a float32 array of shape (2,)"),
        (torch.ones(2), torch.ones(2, dtype=torch.float64), "expected dtype float32, got 'float64'"),
        (torch.ones(2), torch.ones(2, 1), "expected shape (2,), got (2, 1)"),
        (torch.tensor(2.0), torch.tensor(3.0), "expected 2, got 3"),
        (torch.tensor([1, 2]), torch.tensor([1, 3]), "1 of 2 elements differ, largest 1 at [1]; expected 2, got 3"),
        (torch.tensor([1.0, 2.0]), torch.tensor([1.0, float("nan")]), "largest inf at [1]; expected 2, got nan"),
    ],
    ids=_kind_of,
)
def test_what_differs_and_why(golden, observed, reason):
    assert reason in difference(golden, observed)


def test_the_reason_names_the_place_and_the_largest_difference():
    golden, observed = torch.zeros(64), torch.zeros(64)
    golden[12], observed[12], observed[3], observed[60] = 0.412, 0.443, 0.01, -0.02
    assert difference({"losses": golden}, {"losses": observed}) == (
        "losses: 3 of 64 elements differ, largest 0.031 at [12]; expected 0.412, got 0.443"
    )


def test_a_tolerance_of_its_own_applies_to_one_key_only():
    tolerances = {"experiment": Tolerance(rtol=1e-2)}
    assert difference({"experiment": {"loss": 1.0}}, {"experiment": {"loss": 1.005}}, tolerances) is None
    assert difference({"losses": 1.0}, {"losses": 1.005}, tolerances) == "losses: expected 1.0, got 1.005"


def test_half_precision_is_not_held_to_more_digits_than_it_has_but_is_held_to_those():
    golden = torch.tensor([1.0], dtype=torch.bfloat16)
    assert difference(golden, golden * 1.05) is not None


def test_large_values_do_not_overflow_into_agreement():
    assert difference(np.array([1e308]), np.array([-1e308])) is not None
    assert difference(np.array([np.inf]), np.array([1.0])) is not None
    assert difference(np.array([1.0]), np.array([np.inf])) is not None


@given(golden=st.floats(), observed=st.floats() | st.integers(), near=st.floats(-3e-5, 3e-5))
def test_single_floats_agree_when_arrays_of_them_do(golden, observed, near):
    for other in (observed, golden * (1 + near)):
        try:
            array = np.array([float(other)])
        except OverflowError:
            array = np.array([math.inf])
        assert (difference(golden, other) is None) == (difference(np.array([golden]), array) is None)


@given(
    st.sampled_from(["float16", "bfloat16", "float32", "float64"]),
    st.lists(st.floats(-100, 100), min_size=1, max_size=4),
    st.floats(-9, 2),
    st.sampled_from([(0.0, 1e-4), (1e-3, 0.0), (1e-5, 1e-6)]),
)
def test_at_the_margin_observations_begin_to_agree(dtype, values, exponent, tolerance):
    golden = torch.tensor(values, dtype=getattr(torch, dtype))
    golden, observed = (decode(encode({"x": item, "y": 1.0})) for item in (golden, golden + 10.0**exponent))
    bounds = Bounds(Tolerance(rtol=tolerance[0], atol=tolerance[1]))
    found = margin(golden, observed, bounds)

    if found is None:
        assert compare(golden, observed, bounds.with_tolerances_scaled(0.999e6)) is not None
        return
    assert compare(golden, observed, bounds.with_tolerances_scaled(1.001 * found)) is None
    if found > 1e-6:
        assert compare(golden, observed, bounds.with_tolerances_scaled(0.999 * found)) is not None


@pytest.mark.parametrize(
    ("golden", "observed"),
    [
        ([1.0], [float("nan")]),
        ([float("inf")], [1e308]),
        (torch.tensor([float("nan")]), torch.tensor([0.0])),
        (torch.tensor([1, 2]), torch.tensor([1, 3])),
        ({"a": 1.0}, {"b": 1.0}),
        ("x", "y"),
    ],
    ids=_kind_of,
)
def test_what_no_tolerance_allows_has_no_margin(golden, observed):
    assert margin(decode(encode(golden)), decode(encode(observed)), Bounds(TOLERANCE)) is None
    assert margin(decode(encode(golden)), decode(encode(golden)), Bounds(TOLERANCE)) == 1e-6
