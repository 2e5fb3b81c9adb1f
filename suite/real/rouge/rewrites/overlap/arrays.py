"""Tables row by row with numpy's running maximum, masks for unions, and the multiset operations of Counter."""

import operator
from collections import Counter
from functools import reduce


class RougeScorer:
    def score_multi(self, targets, prediction):
        scored = [self.score(target, prediction) for target in targets]
        return {
            kind: max((entry[kind] for entry in scored), key=operator.attrgetter("fmeasure"))
            for kind in self.rouge_types
        }


def _share(hits, predicted, wanted):
    precision = hits / predicted if predicted else 0.0
    recall = hits / wanted if wanted else 0.0
    return scoring.Score(precision, recall, scoring.fmeasure(precision, recall))


def _score_lcs(target_tokens, prediction_tokens):
    longest = _lcs_table(target_tokens, prediction_tokens)[-1][-1]
    return _share(longest, len(prediction_tokens), len(target_tokens))


def _lcs_table(ref, can):
    row = np.zeros(len(can) + 1, dtype=np.int64)
    table = [row.tolist()]
    for token in ref:
        paired = row[:-1] + np.array([other == token for other in can], dtype=np.int64)
        row = np.concatenate([row[:1], np.maximum.accumulate(np.maximum(paired, row[1:]))])
        table.append(row.tolist())
    return table


def _backtrack_norec(t, ref, can):
    places = []
    left = [len(ref), len(can)]
    while all(left):
        i, j = left
        if ref[i - 1] == can[j - 1]:
            places.append(i - 1)
            left = [i - 1, j - 1]
        else:
            left = [i, j - 1] if t[i][j - 1] > t[i - 1][j] else [i - 1, j]
    return places[::-1]


def _summary_level_lcs(ref_sent, can_sent):
    wanted, predicted = (sum(map(len, side)) for side in (ref_sent, can_sent))
    union = reduce(operator.add, (Counter(_union_lcs(line, can_sent)) for line in ref_sent), Counter())
    there = Counter(token for line in can_sent for token in line)
    return _share(sum((union & there).values()), predicted, wanted)


def _union_lcs(ref, c_list):
    mask = np.zeros(len(ref), dtype=bool)
    for line in c_list:
        mask[_backtrack_norec(_lcs_table(ref, line), ref, line)] = True
    return [token for token, kept in zip(ref, mask) if kept]


def _score_ngrams(target_ngrams, prediction_ngrams):
    hits = sum((target_ngrams & prediction_ngrams).values())
    return _share(hits, sum(prediction_ngrams.values()), sum(target_ngrams.values()))
