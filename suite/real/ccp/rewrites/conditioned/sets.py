"""Two lists for each word, and a relation as a set of what both directions say."""


def _relation(forward, backward):
    both = {forward, backward}
    if both == {"entail", "contra"}:
        return "neutral"
    for name in ("entail", "contra"):
        if name in both:
            return name
    return "neutral"


def _log_ccp(alternatives, matrix):
    same, type_ = [], []
    for place, (_, logp) in enumerate(alternatives):
        relation = "entail" if place == 0 else _relation(matrix[0][place], matrix[place][0])
        if relation == "entail":
            same.append(logp)
        if relation != "neutral":
            type_.append(logp)
    return np.logaddexp.reduce(same) - np.logaddexp.reduce(type_)


class GreedyAlternativesNLICalculator:
    def __call__(self, dependencies, texts, model, max_new_tokens=100, **kwargs):
        result = []
        for answer in dependencies["greedy_tokens_alternatives"]:
            matrices = []
            for alternatives in answer:
                words = [token for token, _ in alternatives]
                if words and not isinstance(words[0], str):
                    words = [model.tokenizer.decode([token]) for token in words]
                words = [self._strip(word) for word in words]
                matrix = [["" for _ in words] for _ in words]
                pairs = [(a, b) for a in words[:1] for b in words] + [(a, b) for b in words[:1] for a in words]
                found = eval_nli_model(pairs, self.nli_model)
                names = [max(item, key=item.get) for item in found]
                for place in range(len(words)):
                    matrix[0][place] = names[place]
                    matrix[place][0] = names[len(words) + place]
                matrices.append(matrix)
            result.append(matrices)
        return {"greedy_tokens_alternatives_nli": result}


class ClaimConditionedProbability:
    def _reduce(self, logprobs):
        return np.exp(np.sum(logprobs))

    def _combine_nli(self, forward, backward):
        return _relation(forward, backward)

    def __call__(self, stats):
        result = []
        for answer, matrices in zip(stats["greedy_tokens_alternatives"], stats["greedy_tokens_alternatives_nli"]):
            logs = [_log_ccp(*pair) for pair in zip(answer, matrices)]
            result.append(-self._reduce(logs))
        return np.array(result, dtype=np.float64)


class ClaimConditionedProbabilityClaim:
    def _reduce(self, logprobs):
        return np.exp(np.sum(logprobs))

    def _combine_nli(self, forward, backward):
        return _relation(forward, backward)

    def _token_ccp(self, token_alternatives, token_alternatives_nli):
        if self.is_stopword(token_alternatives[0][0]):
            return 0.0
        return _log_ccp(token_alternatives, token_alternatives_nli)

    def _claim_ccp_no_context(self, alternatives, alternatives_nli, claims):
        result = []
        for answer, matrices, row in zip(alternatives, alternatives_nli, claims):
            logs = [self._token_ccp(*pair) for pair in zip(answer, matrices)]
            result.append([-self._reduce([logs[t] for t in claim.aligned_token_ids]) for claim in row])
        return result

    def _claim_ccp_fact_pref(self, alternatives, alternatives_nli, claims):
        result = []
        for answer, by_claim, row in zip(alternatives, alternatives_nli, claims):
            found = []
            for claim, matrices in zip(row, by_claim):
                assert len(matrices) == len(claim.aligned_token_ids)
                pairs = zip([answer[t] for t in claim.aligned_token_ids], matrices)
                found.append(-self._reduce([self._token_ccp(*pair) for pair in pairs]))
            result.append(found)
        return result
