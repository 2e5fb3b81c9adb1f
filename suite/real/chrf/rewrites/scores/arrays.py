"""Arrays of orders instead of loops, a pattern instead of indices."""

import re

import numpy as np


@staticmethod
def _get_match_statistics(hyp_ngrams, ref_ngrams):
    keys = list({*hyp_ngrams, *ref_ngrams})
    table = np.array(
        [[side.get(key, 0) for key in keys] for side in (hyp_ngrams, ref_ngrams)],
        dtype=np.int64,
    )
    table = table.reshape(2, len(keys))
    hypothesis, reference = table.sum(axis=1).tolist()
    if reference == 0:
        hypothesis = 0
    return [hypothesis, reference, int(table.min(axis=0).sum()) if keys else 0]


def _remove_punctuation(self, sent):
    marks = "[" + re.escape("".join(self._PUNCTS)) + "]"
    words = []
    for word in sent.split():
        for pattern in (f"(.+)({marks})", f"({marks})(.+)", "(.+)"):
            found = re.fullmatch(pattern, word, re.DOTALL)
            if found:
                words.extend(found.groups())
                break
    return words


def _compute_f_score(self, statistics):
    counts = np.asarray(statistics, dtype=np.float64).reshape(self.order, 3)
    there = (counts[:, 0] > 0) & (counts[:, 1] > 0)
    shares = counts[there, 2:] / counts[there, :2]
    square = float(self.beta) ** 2
    if self.eps_smoothing:
        below = square * shares[:, 0] + shares[:, 1]
        above = (1 + square) * shares.prod(axis=1)
        return float(100 * np.divide(above, below, out=np.zeros_like(above), where=below > 0).sum() / self.order)
    if not there.any() or not shares.any():
        return 0.0
    precision, recall = shares.mean(axis=0)
    return float(100 * (1 + square) / (square / recall + 1 / precision))


def _compute_segment_statistics(self, hypothesis, ref_kwargs):
    references = ref_kwargs["ref_ngrams"]
    if not references:
        return []
    counters = extract_all_char_ngrams(hypothesis, self.char_order, self.whitespace)
    if self.word_order:
        words = self._remove_punctuation(hypothesis)
        counters += [extract_word_ngrams(words, number) for number in range(1, self.word_order + 1)]
    lists = [
        [number for pair in zip(counters, reference) for number in self._get_match_statistics(*pair)]
        for reference in references
    ]
    return lists[int(np.argmax([self._compute_f_score(numbers) for numbers in lists]))]
