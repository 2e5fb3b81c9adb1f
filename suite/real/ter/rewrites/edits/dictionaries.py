"""Rows as dictionaries of the cells of the beam, candidates from a generator, the rest by slices and recursion."""


def translation_edit_rate(words_hyp, words_ref):
    if len(words_ref) == 0:
        return len(words_hyp), 0
    distance = BeamEditDistance(words_ref)

    def edits(words, count):
        gain, others, count = _shift(words, words_ref, distance, count)
        if gain > 0 and count < _MAX_SHIFT_CANDIDATES:
            return 1 + edits(others, count)
        return distance(words)[0]

    return edits(words_hyp, 0), len(words_ref)


def _candidates(words_h, pair, align):
    start_h, start_r, length = pair
    last = -1
    for place in range(start_r - 1, start_r + length):
        target = align.get(place, -1) + 1
        if target != last:
            yield target, _perform_shift(words_h, start_h, length, target)
        last = target


def _shift(words_h, words_r, cached_ed, checked_candidates):
    distance, operations = cached_ed(words_h)
    align, wrong_r, wrong_h = trace_to_alignment(_flip_trace(operations))
    best = None
    for pair in _find_shifted_pairs(words_h, words_r):
        start_h, start_r, length = pair
        block_h, block_r = slice(start_h, start_h + length), slice(start_r, start_r + length)
        allowed = 1 in wrong_h[block_h] and 1 in wrong_r[block_r] and not start_h <= align[start_r] < block_h.stop
        if not allowed:
            continue
        for target, words in _candidates(words_h, pair, align):
            checked_candidates += 1
            rank = (cached_ed(words)[0], -length, start_h, target)
            if best is None or rank < best[0]:
                best = rank, words
        if not checked_candidates < _MAX_SHIFT_CANDIDATES:
            break
    if best is None:
        return 0, words_h, checked_candidates
    return distance - best[0][0], best[1], checked_candidates


def _perform_shift(words, start, length, target):
    new = list(words)
    block = new[start : start + length]
    new[start : start + length] = []
    at = target - length if target > start + length else target
    return new[:at] + block + new[at:]


def _find_shifted_pairs(words_h, words_r):
    for start_h, word in enumerate(words_h):
        for start_r, other in enumerate(words_r):
            if word == other and -_MAX_SHIFT_DIST <= start_h - start_r <= _MAX_SHIFT_DIST:
                yield start_h, start_r, 1
                for length in range(2, _MAX_SHIFT_SIZE + 1):
                    one, two = words_h[start_h : start_h + length], words_r[start_r : start_r + length]
                    if len(one) < length or one != two:
                        break
                    yield start_h, start_r, length


def trace_to_alignment(trace):
    align = {}
    errors = {"ref": [], "hyp": []}
    sides = {_OP_NOP: ("hyp", "ref"), _OP_SUB: ("hyp", "ref"), _OP_INS: ("hyp",), _OP_DEL: ("ref",)}
    for op in trace:
        for side in sides[op]:
            errors[side].append(1 - (op == _OP_NOP))
        if "ref" in sides[op]:
            align[len(errors["ref"]) - 1] = len(errors["hyp"]) - 1
    return align, errors["ref"], errors["hyp"]


class TER:
    def _compute_segment_statistics(self, hypothesis, ref_kwargs):
        edits, total = None, 0
        for reference in ref_kwargs["ref_words"]:
            own, length = translation_edit_rate(hypothesis.split(), reference)
            edits = own if edits is None or own < edits else edits
            total += length
        return [edits, total / len(ref_kwargs["ref_words"])]

    def _compute_score_from_stats(self, stats):
        edits, length = float(stats[0]), float(stats[1])
        if length == 0:
            return TERScore(100.0 * bool(edits), stats[0], stats[1])
        return TERScore(edits / length * 100, stats[0], stats[1])
