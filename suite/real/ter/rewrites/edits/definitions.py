"""From definitions: shifts as permutations, alignments by counting, costs and operations in tables of their own."""

import math


def translation_edit_rate(words_hyp, words_ref):
    n = len(words_ref)
    if n == 0:
        return (len(words_hyp), 0)
    cached = BeamEditDistance(words_ref)

    def after(words, made, count):
        gain, better, count = _shift(words, words_ref, cached, count)
        if count < _MAX_SHIFT_CANDIDATES and gain > 0:
            return better, made + 1, count, True
        return words, made, count, False

    words, made, count, more = list(words_hyp), 0, 0, True
    while more:
        words, made, count, more = after(words, made, count)
    return (made + cached(words)[0], n)


def _shift(words_h, words_r, cached_ed, checked_candidates):
    before, trace = cached_ed(words_h)
    align, ref_err, hyp_err = trace_to_alignment(_flip_trace(trace))
    best, best_key = None, None
    for start_h, start_r, length in _find_shifted_pairs(words_h, words_r):
        wrong_h = sum(hyp_err[start_h : start_h + length])
        wrong_r = sum(ref_err[start_r : start_r + length])
        inside = 0 <= align[start_r] - start_h < length
        if wrong_h == 0 or wrong_r == 0 or inside:
            continue
        anchors = [-1 if start_r == 0 else align[start_r - 1]]
        anchors += [align[start_r + step] for step in range(length)]
        targets = [anchor + 1 for anchor in anchors]
        for number, target in enumerate(targets):
            if number and target == targets[number - 1]:
                continue
            checked_candidates += 1
            words = _perform_shift(words_h, start_h, length, target)
            key = (before - cached_ed(words)[0], length, -start_h, -target)
            if best_key is None or key > best_key:
                best, best_key = words, key
        if checked_candidates >= _MAX_SHIFT_CANDIDATES:
            break
    if best_key is None:
        return 0, words_h, checked_candidates
    return best_key[0], best, checked_candidates


def _perform_shift(words, start, length, target):
    places = list(range(len(words)))
    block = places[start : start + length]
    others = [place for place in places if place not in block]
    if target < start or target > start + length:
        before = sum(place < target for place in others)
    else:
        before = min(len(others), start + (target - start))
    order = others[:before] + block + others[before:]
    return [words[place] for place in order]


def _find_shifted_pairs(words_h, words_r):
    h, r = len(words_h), len(words_r)
    for a in range(h):
        low, high = max(0, a - _MAX_SHIFT_DIST), min(r - 1, a + _MAX_SHIFT_DIST)
        for b in range(low, high + 1):
            run = 0
            while run < _MAX_SHIFT_SIZE and a + run < h and b + run < r and words_h[a + run] == words_r[b + run]:
                run += 1
            for length in range(run):
                yield (a, b, length + 1)


def trace_to_alignment(trace):
    if set(trace) - {_OP_NOP, _OP_SUB, _OP_INS, _OP_DEL}:
        raise ValueError("a letter that is no operation")
    in_hyp = [op for op in trace if op != _OP_DEL]
    in_ref = [(place, op) for place, op in enumerate(trace) if op != _OP_INS]
    align = {}
    for number, (place, _) in enumerate(in_ref):
        align[number] = place + 1 - trace[: place + 1].count(_OP_DEL) - 1
    return align, [int(op != _OP_NOP) for _, op in in_ref], [int(op != _OP_NOP) for op in in_hyp]


class TER:
    def _compute_segment_statistics(self, hypothesis, ref_kwargs):
        words = hypothesis.split()
        references = ref_kwargs["ref_words"]
        edits = [translation_edit_rate(words, list(reference))[0] for reference in references]
        return [sorted(edits)[0], math.fsum(map(len, references)) / len(references)]

    def _compute_score_from_stats(self, stats):
        edits, length = stats[0], stats[1]
        score = 100 * edits / length if length > 0 else 100.0 if edits > 0 else 0.0
        return TERScore(score, edits, length)
