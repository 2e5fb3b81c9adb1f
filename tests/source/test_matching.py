"""Lines of two texts are matched as difflib does it, and never for long."""

import random

import pytest

from lmrbench.source.matching import matched

EVERY_7TH, EVERY_11TH = (["b" if number % step == 0 else "a" for number in range(1900)] for step in (7, 11))
HOSTILE = {
    "one line again and again": (EVERY_7TH, EVERY_11TH),
    "two lines in turn": (["a", "b"] * 20_000, ["b", "a", "a"] * 20_000),
    "other lines between all": (
        [f"{number}" for number in range(60_000)],
        [line for number in range(60_000) for line in (f"{number}", "x")],
    ),
    "lines in another order": ([f"{n}" for n in range(60_000)], [f"{n}" for n in reversed(range(60_000))]),
    "pieces that repeat": (
        [f"{n % 300}" if n % 299 else f"unique {n}" for n in range(60_000)],
        [f"{n % 301}" if n % 299 else f"unique {n}" for n in range(60_000)],
    ),
}


def require_right(left, right, opcodes):
    """The opcodes cover both texts in order, and are equal where they say so and in no other whole."""
    a = b = 0
    for kind, start, end, begin, finish in opcodes:
        assert (start, begin) == (a, b)
        assert (kind == "equal") == (left[start:end] == right[begin:finish])
        assert (kind == "insert") == (start == end)
        assert (kind == "delete") == (begin == finish)
        a, b = end, finish
    assert (a, b) == (len(left), len(right))


@pytest.mark.parametrize("seed", range(200))
def test_any_two_texts_are_covered(seed):
    rng = random.Random(seed)
    letters = "abcdefgh"[: rng.randint(1, 8)] + "".join(map(chr, range(200, 200 + rng.randint(0, 30))))
    left, right = ([rng.choice(letters) for _ in range(rng.randint(0, 30))] for _ in range(2))
    require_right(left, right, matched(left, right))
    changed = [line for line in left if rng.random() < 0.8]
    require_right(left, changed, matched(left, changed))


def test_a_function_that_is_filled_in_is_one_change():
    before = ["import a", "", "def f():", "    raise NotImplementedError", "", "def g():", "    return 1"]
    after = ["import a", "import b", "", "def f():", "    x = 1", "    return x", "", "def g():", "    return 1"]

    assert matched(before, after) == [
        ("equal", 0, 1, 0, 1),
        ("insert", 1, 1, 1, 2),
        ("equal", 1, 3, 2, 4),
        ("replace", 3, 4, 4, 6),
        ("equal", 4, 7, 6, 9),
    ]


@pytest.mark.parametrize("name", HOSTILE)
def test_texts_that_are_made_to_be_slow_are_matched(name):
    left, right = HOSTILE[name]
    # By difflib alone most of these would not end while anybody waits.
    require_right(left, right, matched(left, right))
