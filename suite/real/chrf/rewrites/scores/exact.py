"""Fractions until the end, recursion over words, and a choice by sorting."""

from fractions import Fraction


@staticmethod
def _get_match_statistics(hyp_ngrams, ref_ngrams):
    if not ref_ngrams:
        return [0, 0, 0]
    left = dict(ref_ngrams)
    match = total = 0
    for ngram, count in hyp_ngrams.items():
        for _ in range(count):
            total += 1
            if left.get(ngram, 0):
                left[ngram] -= 1
                match += 1
    return [total, sum(ref_ngrams.values()), match]


def _remove_punctuation(self, sent):
    first, *rest = sent.split(None, 1) or [""]
    if not first:
        return []
    cut = len(first)
    if len(first) > 1:
        cut = len(first) - 1 if first[-1] in self._PUNCTS else 1 if first[0] in self._PUNCTS else cut
    parts = [part for part in (first[:cut], first[cut:]) if part]
    return parts + (self._remove_punctuation(rest[0]) if rest else [])


def _compute_f_score(self, statistics):
    square = Fraction(self.beta) ** 2
    precisions, recalls, own = [], [], []
    for order in range(self.order):
        hypothesis, reference, match = (int(number) for number in statistics[3 * order :][:3])
        if hypothesis and reference:
            precision, recall = Fraction(match, hypothesis), Fraction(match, reference)
            precisions.append(precision)
            recalls.append(recall)
            own.append((1 + square) * precision * recall / (square * precision + recall) if match else Fraction(0))
    if self.eps_smoothing:
        return float(100 * sum(own) / self.order)
    if not sum(precisions):
        return 0.0
    precision, recall = (sum(side) / len(side) for side in (precisions, recalls))
    return float(100 * (1 + square) * precision * recall / (square * precision + recall))


def _compute_segment_statistics(self, hypothesis, ref_kwargs):
    own = self._extract_reference_info((hypothesis,))["ref_ngrams"][0]
    found = []
    for place, reference in enumerate(ref_kwargs["ref_ngrams"]):
        numbers = []
        for hyp, ref in zip(own, reference):
            numbers += self._get_match_statistics(hyp, ref)
        found.append((-self._compute_f_score(numbers), place, numbers))
    return sorted(found)[0][2] if found else []
