"""Compare two texts line by line in bounded time.

`difflib` takes cubic time if the same lines repeat often. The texts are therefore cut at lines that occur exactly once
in each of them (as in patience diff). `difflib` compares only the pieces between these lines, and only if they are
small.
"""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

# A limit on the number of pairs of lines that `difflib` compares, over all pieces.
_MOST_PAIRS = 250_000

Opcode = tuple[str, int, int, int, int]


def matched(left: Sequence[str], right: Sequence[str]) -> list[Opcode]:
    """Return the opcodes that turn `left` into `right`, in the form of `difflib.SequenceMatcher.get_opcodes`.

    A piece that would take too long to compare is replaced as a whole, by a single opcode.
    """
    found: list[Opcode] = []
    budget = _MOST_PAIRS
    for kind, start, end, begin, finish in _cut(left, right):
        pairs = (end - start) * (finish - begin)
        if not pairs:
            if end > start or finish > begin:
                found.append(("delete" if end > start else "insert", start, end, begin, finish))
            continue
        if kind == "equal" or pairs > budget:
            found.append((kind, start, end, begin, finish))
            continue
        budget -= pairs
        matcher = difflib.SequenceMatcher(None, left[start:end], right[begin:finish], autojunk=False)
        found += [(tag, start + a, start + b, begin + c, begin + d) for tag, a, b, c, d in matcher.get_opcodes()]
    return _joined(found)


def _cut(left: Sequence[str], right: Sequence[str]) -> Iterator[Opcode]:
    """Yield equal pieces (at both ends, and at lines that are unique in both texts) and the pieces between them."""
    ends = min(len(left), len(right))
    top = next((number for number in range(ends) if left[number] != right[number]), ends)
    ends -= top
    bottom = next((number for number in range(ends) if left[-1 - number] != right[-1 - number]), ends)
    last = len(left) - bottom, len(right) - bottom
    if top:
        yield "equal", 0, top, 0, top
    a = b = top
    for here, there in _anchors(left, right, top, bottom):
        yield "replace", a, here, b, there
        a, b = here + 1, there + 1
        yield "equal", here, a, there, b
    yield "replace", a, last[0], b, last[1]
    if bottom:
        yield "equal", last[0], len(left), last[1], len(right)


def _anchors(left: Sequence[str], right: Sequence[str], top: int, bottom: int) -> list[tuple[int, int]]:
    """Return the longest sequence of lines that are unique in both texts and in the same order, as pairs of positions.

    The first `top` lines and the last `bottom` lines, which are the same in both texts, are not considered.
    """
    middle, other = range(top, len(left) - bottom), range(top, len(right) - bottom)
    counts = [Counter(text[number] for number in part) for text, part in ((left, middle), (right, other))]
    places = {right[number]: number for number in other}
    last: list[int] = []
    series: list[tuple[int, int, int]] = []
    ends: list[int] = []
    for number in middle:
        line = left[number]
        if counts[0][line] != 1 or counts[1][line] != 1:
            continue
        place = places[line]
        length = bisect_left(last, place)
        series.append((number, place, ends[length - 1] if length else -1))
        last[length : length + 1] = [place]
        ends[length : length + 1] = [len(series) - 1]
    found = []
    at = ends[-1] if ends else -1
    while at >= 0:
        number, place, at = series[at]
        found.append((number, place))
    return found[::-1]


def _joined(opcodes: Sequence[Opcode]) -> list[Opcode]:
    """Merge adjacent opcodes of the same kind."""
    found: list[Opcode] = []
    for kind, start, end, begin, finish in opcodes:
        if found and found[-1][0] == kind:
            _, start, _, begin, _ = found.pop()
        found.append((kind, start, end, begin, finish))
    return found
