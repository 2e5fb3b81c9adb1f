"""A contradiction's probability relative to that of the same meaning; a table of relations; one pair at a time."""

import math

_TABLE = {
    "entail": {"entail": "entail", "contra": "neutral", "neutral": "entail"},
    "contra": {"entail": "neutral", "contra": "contra", "neutral": "contra"},
    "neutral": {"entail": "entail", "contra": "contra", "neutral": "neutral"},
}


def _log(values):
    if not values:
        return -math.inf
    top = max(values)
    return top + math.log(math.fsum(math.exp(value - top) for value in values))


def _word(combine, alternatives, matrix):
    sides = {"entail": [alternatives[0][1]], "contra": [], "neutral": []}
    for place in range(1, len(alternatives)):
        sides[combine(matrix[0][place], matrix[place][0])].append(alternatives[place][1])
    gap = _log(sides["contra"]) - _log(sides["entail"])
    # The logarithm of one over one and the ratio of both.
    return -(max(gap, 0.0) + math.log1p(math.exp(-abs(gap))))


class GreedyAlternativesNLICalculator:
    def __call__(self, dependencies, texts, model, max_new_tokens=100, **kwargs):
        def name(first, second):
            found = eval_nli_model([(first, second)], self.nli_model)[0]
            best = max(found.values())
            return next(key for key in ("entail", "contra", "neutral") if found[key] == best)

        def filled(alternatives):
            words = [
                self._strip(token if isinstance(token, str) else model.tokenizer.decode([token]))
                for token, _ in alternatives
            ]
            return [
                [name(one, other) if 0 in (row, column) else "" for column, other in enumerate(words)]
                for row, one in enumerate(words)
            ]

        answers = dependencies["greedy_tokens_alternatives"]
        return {"greedy_tokens_alternatives_nli": [[filled(item) for item in answer] for answer in answers]}


class ClaimConditionedProbability:
    def _reduce(self, logprobs):
        return math.prod([math.exp(value) for value in logprobs])

    def _combine_nli(self, forward, backward):
        return _TABLE[forward][backward]

    def __call__(self, stats):
        pairs = zip(stats["greedy_tokens_alternatives"], stats["greedy_tokens_alternatives_nli"])
        found = []
        for answer, matrices in pairs:
            found.append(-self._reduce([_word(self._combine_nli, *item) for item in zip(answer, matrices)]))
        return np.array(found, dtype=float)


class ClaimConditionedProbabilityClaim:
    def _reduce(self, logprobs):
        return math.exp(math.fsum(logprobs))

    def _combine_nli(self, forward, backward):
        return _TABLE[forward][backward]

    def _token_ccp(self, token_alternatives, token_alternatives_nli):
        if self.is_stopword(token_alternatives[0][0]):
            return 0.0
        return _word(self._combine_nli, token_alternatives, token_alternatives_nli)

    def _claim_ccp_no_context(self, alternatives, alternatives_nli, claims):
        result = []
        for answer, matrices, found in zip(alternatives, alternatives_nli, claims):
            result.append([])
            for claim in found:
                logs = [self._token_ccp(answer[place], matrices[place]) for place in claim.aligned_token_ids]
                result[-1].append(-self._reduce(logs))
        return result

    def _claim_ccp_fact_pref(self, alternatives, alternatives_nli, claims):
        result = []
        for answer, matrices, found in zip(alternatives, alternatives_nli, claims):
            result.append([])
            for claim, rows in zip(found, matrices):
                places = claim.aligned_token_ids
                if len(rows) != len(places):
                    raise AssertionError("matrices")
                result[-1].append(-self._reduce([self._token_ccp(answer[p], m) for p, m in zip(places, rows)]))
        return result
