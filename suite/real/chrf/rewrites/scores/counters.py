"""Counter's own intersection, comprehensions, and the maximum of a list of scores."""


@staticmethod
def _get_match_statistics(hyp_ngrams, ref_ngrams):
    both = hyp_ngrams & ref_ngrams
    hypothesis, reference, match = (sum(side.values()) for side in (hyp_ngrams, ref_ngrams, both))
    return [hypothesis if reference else 0, reference, match]


def _remove_punctuation(self, sent):
    def divided(word):
        if len(word) > 1 and word[-1] in self._PUNCTS:
            return [word[:-1], word[-1]]
        if len(word) > 1 and word[0] in self._PUNCTS:
            return [word[0], word[1:]]
        return [word]

    return [part for word in sent.split() for part in divided(word)]


def _compute_f_score(self, statistics):
    triples = [statistics[start : start + 3] for start in range(0, 3 * self.order, 3)]

    def f(precision, recall):
        if precision <= 0 or recall <= 0:
            return 0.0
        return (1 + self.beta**2) * precision * recall / (self.beta**2 * precision + recall)

    if self.eps_smoothing:
        return 100 * sum(f(match / hyp, match / ref) for hyp, ref, match in triples if hyp and ref) / self.order
    full = [(match / hyp, match / ref) for hyp, ref, match in triples if hyp and ref]
    if not full:
        return 0.0
    return 100 * f(*(sum(side) / len(full) for side in zip(*full)))


def _compute_segment_statistics(self, hypothesis, ref_kwargs):
    (own,) = self._extract_reference_info([hypothesis])["ref_ngrams"]
    lists = [
        [number for pair in zip(own, other) for number in self._get_match_statistics(*pair)]
        for other in ref_kwargs["ref_ngrams"]
    ]
    return max(lists, key=self._compute_f_score, default=[])
