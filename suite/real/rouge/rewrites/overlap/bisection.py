"""Tables from the places where a row rises, found by bisection, and an explicit path through them."""

from bisect import bisect_left
from collections import defaultdict
from fractions import Fraction


class RougeScorer:
    def score_multi(self, targets, prediction):
        kinds = list(self.rouge_types)
        scores = [self.score(target, prediction) for target in targets]
        chosen = {}
        for kind in kinds:
            ranked = sorted(range(len(scores)), key=lambda place: -scores[place][kind].fmeasure)
            if not ranked:
                raise ValueError(kind)
            chosen[kind] = scores[ranked[0]][kind]
        return chosen


def _numbers(hits, predicted, wanted):
    precision, recall = Fraction(hits, max(predicted, 1)), Fraction(hits, max(wanted, 1))
    return scoring.Score(float(precision), float(recall), float(scoring.fmeasure(precision, recall)))


def _score_lcs(target_tokens, prediction_tokens):
    table = _lcs_table(prediction_tokens, target_tokens)
    return _numbers(max(map(max, table)), len(prediction_tokens), len(target_tokens))


def _lcs_table(ref, can):
    places = defaultdict(list)
    for place, token in enumerate(can, start=1):
        places[token].insert(0, place)
    rises, table = [], [[0] * (len(can) + 1)]
    for token in ref:
        for place in places.get(token, ()):
            at = bisect_left(rises, place)
            rises[at : at + 1] = [place]
        row, level = [], 0
        for place in range(len(can) + 1):
            if level < len(rises) and rises[level] == place:
                level += 1
            row.append(level)
        table.append(row)
    return table


def _backtrack_norec(t, ref, can):
    result, i, j = [], len(ref), len(can)
    while min(i, j) > 0:
        paired = ref[i - 1] == can[j - 1]
        shorter = not paired and t[i][j - 1] - t[i - 1][j] >= 1
        if paired:
            result = [i - 1, *result]
        i, j = i - (not shorter), j - (paired or shorter)
    return result


def _summary_level_lcs(ref_sent, can_sent):
    union, there = defaultdict(int), defaultdict(int)
    for line in can_sent:
        for token in line:
            there[token] += 1
    for line in ref_sent:
        for token in _union_lcs(line, can_sent):
            union[token] += 1
    hits = sum(min(count, there[token]) for token, count in union.items())
    return _numbers(hits, sum(there.values()), len([token for line in ref_sent for token in line]))


def _union_lcs(ref, c_list):
    kept = dict.fromkeys(range(len(ref)), False)
    for line in c_list:
        kept.update(dict.fromkeys(lcs_ind(ref, line), True))
    return [ref[place] for place in kept if kept[place]]


def _score_ngrams(target_ngrams, prediction_ngrams):
    missed = sum((target_ngrams - prediction_ngrams).values())
    wanted = sum(target_ngrams.values())
    return _numbers(wanted - missed, sum(prediction_ngrams.values()), wanted)
