"""The shortest code that follows the instruction: one loop for the table, one for the places."""

from collections import Counter


class RougeScorer:
    def score_multi(self, targets, prediction):
        scores = [self.score(target, prediction) for target in targets]
        return {kind: max((score[kind] for score in scores), key=lambda s: s.fmeasure) for kind in self.rouge_types}


def _score_of(hits, predicted, wanted):
    precision, recall = hits / predicted, hits / wanted
    return scoring.Score(precision, recall, scoring.fmeasure(precision, recall))


def _score_lcs(target_tokens, prediction_tokens):
    longest = _lcs_table(target_tokens, prediction_tokens)[-1][-1]
    return _score_of(longest, len(prediction_tokens), len(target_tokens))


def _lcs_table(ref, can):
    table = [[0] * (len(can) + 1)]
    for token in ref:
        above, row = table[-1], [0]
        for j, other in enumerate(can):
            row.append(above[j] + 1 if token == other else max(above[j + 1], row[j]))
        table.append(row)
    return table


def _backtrack_norec(t, ref, can):
    i, j, places = len(ref), len(can), []
    while i > 0 and j > 0:
        if ref[i - 1] == can[j - 1]:
            i, j = i - 1, j - 1
            places.append(i)
        elif t[i][j - 1] > t[i - 1][j]:
            j -= 1
        else:
            i -= 1
    return places[::-1]


def _summary_level_lcs(ref_sent, can_sent):
    there = Counter(token for line in can_sent for token in line)
    union = Counter(token for line in ref_sent for token in _union_lcs(line, can_sent))
    return _score_of((union & there).total(), there.total(), sum(map(len, ref_sent)))


def _union_lcs(ref, c_list):
    return [ref[place] for place in sorted({place for line in c_list for place in lcs_ind(ref, line)})]


def _score_ngrams(target_ngrams, prediction_ngrams):
    hits = (target_ngrams & prediction_ngrams).total()
    return _score_of(hits, prediction_ngrams.total(), target_ngrams.total())
