"""Whatever bytes a sandbox sends, the host makes frames, observations and differences of them, or a ValueError."""

from hypothesis import example, given
from hypothesis import strategies as st
from tests.fuzz.generated import leaves, observations

from lmrbench.grading.compare import compare, margin
from lmrbench.sandbox.inside.encoding import Array, decode, encode
from lmrbench.sandbox.inside.framing import HEADER, FrameReader, pack
from lmrbench.tasks.bounds import Bounds, Tolerance

BOUNDS = Bounds(Tolerance())
LIMIT = 1 << 20


@given(st.lists(st.tuples(st.integers(0, 255), st.integers(-(2**31), 2**31 - 1), st.binary(max_size=50))), st.data())
def test_frames_come_back_however_they_are_cut(frames, data):
    stream = b"".join(pack(*frame) for frame in frames)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    reader = FrameReader(LIMIT)
    found = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += [tuple(frame) for frame in reader.feed(stream[start:end])]

    assert found == frames


@given(st.binary(max_size=200))
@example(HEADER.pack(21, 0, 2**32 - 1))
def test_a_stream_of_anything_is_frames_or_refused(stream):
    try:
        frames = list(FrameReader(LIMIT).feed(stream))
    except ValueError:
        return
    assert sum(HEADER.size + len(frame.payload) for frame in frames) <= len(stream)


@given(observations)
def test_an_observation_comes_back_and_agrees_with_itself(value):
    try:
        payload = encode(value)
    except (TypeError, ValueError):
        return
    assert compare(decode(payload), decode(payload), BOUNDS) is None


@given(observations, st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=5))
@example({"a": [1.0]}, [(0, 255), (1, 255), (7, 127)])
def test_a_damaged_observation_is_refused_or_no_larger_than_its_bytes(value, changes):
    try:
        payload = bytearray(encode(value))
    except (TypeError, ValueError):
        return
    for place, byte in changes:
        payload[place % len(payload)] = byte
    try:
        other = decode(bytes(payload))
    except ValueError:
        return
    # Pairs of half-precision numbers become complex numbers of twice their size.
    assert size(other) <= 2 * len(payload)


def size(value):
    """A lower bound on the bytes that a decoded value takes."""
    if isinstance(value, Array):
        return value.values.nbytes
    if isinstance(value, dict):
        return 1 + sum(size(key) + size(item) for key, item in value.items())
    if isinstance(value, list):
        return 1 + sum(map(size, value))
    return len(value) if isinstance(value, (str, bytes)) else 1


@given(st.one_of(observations, leaves), st.one_of(observations, leaves))
@example(1.0, 10**400)
@example({"a": 1}, {1: "a"})
def test_two_observations_can_always_be_compared(golden, observed):
    try:
        one, other = (decode(encode(value)) for value in (golden, observed))
    except (TypeError, ValueError):
        return
    difference = compare(one, other, BOUNDS)
    factor = margin(one, other, BOUNDS)

    assert difference is None or isinstance(difference, str)
    assert (difference is None) == (factor is not None and factor <= 1)
