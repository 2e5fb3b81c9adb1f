"""Sorted candidates and rows by a choice among three cells."""


def translation_edit_rate(words_hyp, words_ref):
    if not words_ref:
        return len(words_hyp), 0
    distance = BeamEditDistance(words_ref)
    words = words_hyp
    shifts = checked = 0
    while True:
        gain, shifted, checked = _shift(words, words_ref, distance, checked)
        if checked >= _MAX_SHIFT_CANDIDATES or gain <= 0:
            break
        words = shifted
        shifts += 1
    return shifts + distance(words)[0], len(words_ref)


def _shift(words_h, words_r, cached_ed, checked_candidates):
    before, trace = cached_ed(words_h)
    align, ref_err, hyp_err = trace_to_alignment(_flip_trace(trace))
    found = []
    for start_h, start_r, length in _find_shifted_pairs(words_h, words_r):
        if not any(hyp_err[start_h : start_h + length]):
            continue
        if not any(ref_err[start_r : start_r + length]):
            continue
        if align[start_r] in range(start_h, start_h + length):
            continue
        last = None
        for place in range(start_r - 1, start_r + length):
            target = align[place] + 1 if place >= 0 else 0
            if target == last:
                continue
            last = target
            words = _perform_shift(words_h, start_h, length, target)
            gain = before - cached_ed(words)[0]
            found.append((gain, length, -start_h, -target, words))
            checked_candidates += 1
        if checked_candidates >= _MAX_SHIFT_CANDIDATES:
            break
    if not found:
        return 0, words_h, checked_candidates
    best = max(found)
    return best[0], best[-1], checked_candidates


def _perform_shift(words, start, length, target):
    end = start + length
    block, rest = words[start:end], words[:start] + words[end:]
    place = target - length if target > end else target
    return rest[:place] + block + rest[place:]


def _find_shifted_pairs(words_h, words_r):
    for start_h in range(len(words_h)):
        for start_r in range(len(words_r)):
            if abs(start_h - start_r) > _MAX_SHIFT_DIST:
                continue
            room = min(len(words_h) - start_h, len(words_r) - start_r, _MAX_SHIFT_SIZE)
            for length in range(1, room + 1):
                if words_h[start_h + length - 1] != words_r[start_r + length - 1]:
                    break
                yield start_h, start_r, length


def trace_to_alignment(trace):
    align, ref_err, hyp_err = {}, [], []
    for op in trace:
        if op not in (_OP_NOP, _OP_SUB, _OP_INS, _OP_DEL):
            raise Exception(f"no operation: {op!r}")
        wrong = 0 if op == _OP_NOP else 1
        if op != _OP_DEL:
            hyp_err.append(wrong)
        if op != _OP_INS:
            align[len(ref_err)] = len(hyp_err) - 1
            ref_err.append(wrong)
    return align, ref_err, hyp_err


class TER:
    def _compute_segment_statistics(self, hypothesis, ref_kwargs):
        words = hypothesis.split()
        counts = [translation_edit_rate(words, reference) for reference in ref_kwargs["ref_words"]]
        edits = min(count for count, _ in counts)
        return [edits, sum(length for _, length in counts) / len(counts)]

    def _compute_score_from_stats(self, stats):
        edits, length = stats[0], stats[1]
        rate = edits / length if length > 0 else float(edits > 0)
        return TERScore(100 * rate, edits, length)
