"""Tables column by column, places from a generator, and words that are crossed off one by one."""

from itertools import chain


class RougeScorer:
    def score_multi(self, targets, prediction):
        best = {}
        everything = [self.score(target, prediction) for target in targets]
        if self.rouge_types and not everything:
            raise ValueError("there is no target")
        for kind in self.rouge_types:
            best[kind] = everything[0][kind]
            for entry in everything[1:]:
                if entry[kind].fmeasure > best[kind].fmeasure:
                    best[kind] = entry[kind]
        return best


def _of(hits, predicted, wanted):
    if not hits:
        return scoring.Score(0.0, 0.0, 0.0)
    return scoring.Score(fmeasure=2 * hits / (predicted + wanted), recall=hits / wanted, precision=hits / predicted)


def _score_lcs(target_tokens, prediction_tokens):
    if len(target_tokens) < 1 or len(prediction_tokens) < 1:
        return _of(0, 1, 1)
    return _of(len(lcs_ind(target_tokens, prediction_tokens)), len(prediction_tokens), len(target_tokens))


def _lcs_table(ref, can):
    columns = [[0] * (len(ref) + 1)]
    for other in can:
        before, column = columns[-1], [0]
        for above, here, token in zip(before, before[1:], ref):
            column.append(above + 1 if token == other else max(here, column[-1]))
        columns.append(column)
    return list(map(list, zip(*columns)))


def _places(t, ref, can):
    i, j = len(ref) - 1, len(can) - 1
    while i >= 0 and j >= 0:
        if ref[i] == can[j]:
            yield i
            j -= 1
        elif t[i + 1][j] > t[i][j + 1]:
            j -= 1
            continue
        i -= 1


def _backtrack_norec(t, ref, can):
    return sorted(_places(t, ref, can))


def _summary_level_lcs(ref_sent, can_sent):
    everything = list(chain.from_iterable(can_sent))
    wanted = len(list(chain.from_iterable(ref_sent)))
    left, hits = everything.copy(), 0
    for line in ref_sent:
        for token in _union_lcs(line, can_sent):
            if token in left:
                left.remove(token)
                hits += 1
    return _of(hits, len(everything), wanted)


def _union_lcs(ref, c_list):
    found = [set(lcs_ind(ref, line)) for line in c_list]
    return [token for place, token in enumerate(ref) if any(place in places for places in found)]


def _score_ngrams(target_ngrams, prediction_ngrams):
    hits = sum(min(count, target_ngrams.get(ngram, 0)) for ngram, count in prediction_ngrams.items())
    return _of(hits, sum(prediction_ngrams.values()), sum(target_ngrams.values()))
