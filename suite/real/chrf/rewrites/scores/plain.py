"""The shortest code that follows the instruction; the hypothesis is cut as if it were a reference."""


@staticmethod
def _get_match_statistics(hyp_ngrams, ref_ngrams):
    return [sum(side.values()) for side in (hyp_ngrams, ref_ngrams, hyp_ngrams & ref_ngrams)]


def _remove_punctuation(self, sent):
    words = []
    for word in sent.split():
        if len(word) > 1 and word[-1] in self._PUNCTS:
            words += [word[:-1], word[-1]]
        elif len(word) > 1 and word[0] in self._PUNCTS:
            words += [word[0], word[1:]]
        else:
            words.append(word)
    return words


def _compute_f_score(self, statistics):
    triples = zip(statistics[::3], statistics[1::3], statistics[2::3])
    shares = [(match / hyp, match / ref) for hyp, ref, match in triples if hyp and ref]
    factor = self.beta**2
    if self.eps_smoothing:
        return 100 * sum((1 + factor) * p * r / (factor * p + r) for p, r in shares if p) / self.order
    p, r = (sum(side) / len(shares) for side in zip(*shares))
    return 100 * (1 + factor) * p * r / (factor * p + r)


def _compute_segment_statistics(self, hypothesis, ref_kwargs):
    (own,) = self._extract_reference_info([hypothesis])["ref_ngrams"]
    lists = [
        [number for pair in zip(own, other) for number in self._get_match_statistics(*pair)]
        for other in ref_kwargs["ref_ngrams"]
    ]
    return max(lists, key=self._compute_f_score)
