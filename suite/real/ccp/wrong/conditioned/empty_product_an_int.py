"""The product of nothing is an int, and so is the array where all answers are empty."""

import numpy as np

from .estimator import Estimator
from .stat_calculator import StatCalculator


class GreedyAlternativesNLICalculator(StatCalculator):
    def __call__(self, dependencies, texts, model, max_new_tokens=100, **kwargs):
        words = [
            [
                [self._strip(model.tokenizer.decode([t]) if isinstance(t, int) else t) for t, _ in position]
                for position in answer
            ]
            for answer in dependencies["greedy_tokens_alternatives"]
        ]
        queue = []
        for answer in words:
            for position in answer:
                for word in position:
                    queue += [(position[0], word), (word, position[0])]
        classes = {}
        for pair, probs in zip(queue, eval_nli_model(queue, self.nli_model)):
            classes[pair] = max(("entail", "contra", "neutral"), key=lambda name: probs[name])
        result = []
        for answer in words:
            matrices = []
            for position in answer:
                n = len(position)
                matrix = [[""] * n for _ in range(n)]
                for i, word in enumerate(position):
                    matrix[0][i] = classes[position[0], word]
                    matrix[i][0] = classes[word, position[0]]
                matrices.append(matrix)
            result.append(matrices)
        return {"greedy_tokens_alternatives_nli": result}


class ClaimConditionedProbability(Estimator):
    def _reduce(self, logprobs):
        return np.exp(np.sum(np.asarray(logprobs, dtype=np.float64))) if len(logprobs) else 1

    def _combine_nli(self, forward, backward):
        if forward == backward:
            return forward
        if "neutral" in (forward, backward):
            return backward if forward == "neutral" else forward
        return "neutral"

    def __call__(self, stats):
        results = []
        for _, alternatives, matrices in zip(
            stats["greedy_tokens"], stats["greedy_tokens_alternatives"], stats["greedy_tokens_alternatives_nli"]
        ):
            logs = []
            for position, matrix in zip(alternatives, matrices):
                same, typed = [], []
                for i, (_, logprob) in enumerate(position):
                    relation = "entail" if i == 0 else self._combine_nli(matrix[0][i], matrix[i][0])
                    if relation == "entail":
                        same.append(logprob)
                    if relation != "neutral":
                        typed.append(logprob)
                logs.append(np.logaddexp.reduce(same) - np.logaddexp.reduce(typed))
            results.append(-self._reduce(logs))
        return np.array(results) if results else np.zeros(0)


class ClaimConditionedProbabilityClaim(Estimator):
    def _reduce(self, logprobs):
        return np.exp(np.sum(np.asarray(logprobs, dtype=np.float64)))

    def _combine_nli(self, forward, backward):
        if forward == backward:
            return forward
        if "neutral" in (forward, backward):
            return backward if forward == "neutral" else forward
        return "neutral"

    def _token_ccp(self, token_alternatives, token_alternatives_nli):
        if self.is_stopword(token_alternatives[0][0]):
            return 0.0
        matrix = token_alternatives_nli
        same, typed = [], []
        for i, (_, logprob) in enumerate(token_alternatives):
            relation = "entail" if i == 0 else self._combine_nli(matrix[0][i], matrix[i][0])
            if relation == "entail":
                same.append(logprob)
            if relation != "neutral":
                typed.append(logprob)
        return np.logaddexp.reduce(same) - np.logaddexp.reduce(typed)

    def _claim_ccp_no_context(self, alternatives, alternatives_nli, claims):
        results = []
        for positions, matrices, answer_claims in zip(alternatives, alternatives_nli, claims):
            results.append([])
            for claim in answer_claims:
                logs = [self._token_ccp(positions[j], matrices[j]) for j in claim.aligned_token_ids]
                results[-1].append(-self._reduce(logs))
        return results

    def _claim_ccp_fact_pref(self, alternatives, alternatives_nli, claims):
        results = []
        for positions, answer_matrices, answer_claims in zip(alternatives, alternatives_nli, claims):
            results.append([])
            for claim, matrices in zip(answer_claims, answer_matrices):
                places = claim.aligned_token_ids
                assert len(matrices) == len(places)
                logs = [self._token_ccp(positions[j], matrix) for j, matrix in zip(places, matrices)]
                results[-1].append(-self._reduce(logs))
        return results
