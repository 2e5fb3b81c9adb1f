"""The shortest code that follows the instruction: shifts one after the other, candidates compared by one key."""


def translation_edit_rate(words_hyp, words_ref):
    distance, words, shifts = BeamEditDistance(words_ref), words_hyp, 0
    while True:
        gain, shifted, _ = _shift(words, words_ref, distance, 0)
        if gain <= 0:
            return shifts + distance(words)[0], len(words_ref)
        words, shifts = shifted, shifts + 1


def _shift(words_h, words_r, cached_ed, checked_candidates):
    distance, trace = cached_ed(words_h)
    align, ref_err, hyp_err = trace_to_alignment(_flip_trace(trace))
    candidates = []
    for start_h, start_r, length in _find_shifted_pairs(words_h, words_r):
        wrong = any(hyp_err[start_h : start_h + length]) and any(ref_err[start_r : start_r + length])
        if not wrong or start_h <= align[start_r] < start_h + length:
            continue
        for place in range(start_r - 1, start_r + length):
            target = align[place] + 1 if place >= 0 else 0
            words = _perform_shift(words_h, start_h, length, target)
            candidates.append((distance - cached_ed(words)[0], length, -start_h, -target, words))
    gain, _, _, _, words = max(candidates, default=(0, 0, 0, 0, words_h))
    return gain, words, checked_candidates + len(candidates)


def _perform_shift(words, start, length, target):
    block, rest = words[start : start + length], words[:start] + words[start + length :]
    place = target - length if target > start + length else target
    return rest[:place] + block + rest[place:]


def _find_shifted_pairs(words_h, words_r):
    for start_h in range(len(words_h)):
        for start_r in range(len(words_r)):
            if abs(start_h - start_r) <= _MAX_SHIFT_DIST:
                for length in range(1, _MAX_SHIFT_SIZE + 1):
                    block = words_h[start_h : start_h + length]
                    if len(block) < length or block != words_r[start_r : start_r + length]:
                        break
                    yield start_h, start_r, length


def trace_to_alignment(trace):
    align, ref_err, hyp_err = {}, [], []
    for op in trace:
        wrong = int(op != _OP_NOP)
        if op != _OP_DEL:
            hyp_err.append(wrong)
        if op != _OP_INS:
            align[len(ref_err)] = len(hyp_err) - 1
            ref_err.append(wrong)
    return align, ref_err, hyp_err


class TER:
    def _compute_segment_statistics(self, hypothesis, ref_kwargs):
        words, references = hypothesis.split(), ref_kwargs["ref_words"]
        edits = min(translation_edit_rate(words, reference)[0] for reference in references)
        return [edits, sum(map(len, references)) / len(references)]

    def _compute_score_from_stats(self, stats):
        edits, length = stats
        return TERScore(100 * edits / length, edits, length)
