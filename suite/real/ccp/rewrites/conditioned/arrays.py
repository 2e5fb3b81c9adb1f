"""Relations as signs, whose sum says what counts; probabilities relative to the largest; one queue for a batch."""

_SIGNS = {"entail": 1, "contra": -1, "neutral": 0}


def _log_share(alternatives, matrix):
    logs = np.array([logp for _, logp in alternatives])
    forward = np.array([0] + [_SIGNS[name] for name in matrix[0][1:]])
    backward = np.array([0] + [_SIGNS[row[0]] for row in matrix[1:]])
    signs = np.sign(forward + backward)
    signs[0] = 1
    same, kind = logs[signs > 0], logs[signs != 0]
    inner = np.exp(same - same.max()).sum()
    outer = np.exp(kind - kind.max()).sum()
    return same.max() - kind.max() + np.log(inner) - np.log(outer)


def _named(forward, backward):
    total = _SIGNS[forward] + _SIGNS[backward]
    return "neutral" if total == 0 else ("entail" if total > 0 else "contra")


class GreedyAlternativesNLICalculator:
    def __call__(self, dependencies, texts, model, max_new_tokens=100, **kwargs):
        answers = []
        for answer in dependencies["greedy_tokens_alternatives"]:
            answers.append([])
            for alternatives in answer:
                tokens = [pair[0] for pair in alternatives]
                texts_ = [token if isinstance(token, str) else model.tokenizer.decode([token]) for token in tokens]
                answers[-1].append([self._strip(text) for text in texts_])
        queue = [
            pair
            for answer in answers
            for words in answer
            for word in words
            for pair in ((words[0], word), (word, words[0]))
        ]
        said = dict(zip(queue, eval_nli_model(queue, self.nli_model)))
        result = []
        for answer in answers:
            result.append([])
            for words in answer:
                table = [[""] * len(words) for _ in words]
                for place, word in enumerate(words):
                    for row, column, pair in ((0, place, (words[0], word)), (place, 0, (word, words[0]))):
                        scores = [said[pair][name] for name in _SIGNS]
                        table[row][column] = list(_SIGNS)[int(np.argmax(scores))]
                result[-1].append(table)
        return {"greedy_tokens_alternatives_nli": result}


class ClaimConditionedProbability:
    def _reduce(self, logprobs):
        return float(np.exp(np.asarray(logprobs, dtype=np.float64).sum()))

    def _combine_nli(self, forward, backward):
        return _named(forward, backward)

    def __call__(self, stats):
        result = np.ones(len(stats["greedy_tokens_alternatives"]))
        for place, answer in enumerate(stats["greedy_tokens_alternatives"]):
            rows = stats["greedy_tokens_alternatives_nli"][place]
            for item in zip(answer, rows):
                result[place] *= np.exp(_log_share(*item))
        return -result


class ClaimConditionedProbabilityClaim:
    def _reduce(self, logprobs):
        return np.multiply.reduce(np.exp(np.asarray(logprobs, dtype=np.float64)))

    def _combine_nli(self, forward, backward):
        return _named(forward, backward)

    def _token_ccp(self, token_alternatives, token_alternatives_nli):
        skipped = self.is_stopword(token_alternatives[0][0])
        return np.float64(0) if skipped else _log_share(token_alternatives, token_alternatives_nli)

    def _claim_ccp_no_context(self, alternatives, alternatives_nli, claims):
        by_answer = [
            np.array([self._token_ccp(*item) for item in zip(*pair)]) for pair in zip(alternatives, alternatives_nli)
        ]
        return [[-self._reduce(logs[claim.aligned_token_ids]) for claim in row] for logs, row in zip(by_answer, claims)]

    def _claim_ccp_fact_pref(self, alternatives, alternatives_nli, claims):
        def one(answer, claim, rows):
            assert len(rows) == len(claim.aligned_token_ids), "as many matrices as tokens"
            logs = [self._token_ccp(answer[place], row) for place, row in zip(claim.aligned_token_ids, rows)]
            return -self._reduce(logs)

        return [
            [one(answer, claim, rows) for claim, rows in zip(row, by_claim)]
            for answer, by_claim, row in zip(alternatives, alternatives_nli, claims)
        ]
