"""Pair by pair of responses, with running sums; tokens are weighed after they are added up."""

from itertools import permutations
from statistics import fmean


def _entropies(likelihoods, similarities):
    total = sum((1.0 - similarity for similarity in similarities.astype(float).tolist()), 0.0)
    for likelihood, similarity in zip(likelihoods, similarities.tolist()):
        yield (similarity - 1.0) * likelihood / total


def _mean(probabilities, matrix, t):
    sums = list(probabilities)
    for j, k in permutations(range(len(sums)), 2):
        sums[j] += probabilities[k] * float(matrix[j][k]) / t
    return fmean(-np.log(value) for value in sums)


def token_level_sar_scores(stats):
    questions = zip(stats["greedy_log_likelihoods"], stats["token_similarity"])
    return [np.fromiter(_entropies(*question), float) for question in questions]


class TokenSAR:
    def __call__(self, stats):
        return np.array([np.add.reduce(scores) for scores in token_level_sar_scores(stats)], float)


class SentenceSAR:
    def __call__(self, stats):
        result = np.empty(len(stats["sample_log_probs"]))
        for place, logps in enumerate(stats["sample_log_probs"]):
            result[place] = _mean([float(np.exp(x)) for x in logps], stats["sample_sentence_similarity"][place], self.t)
        return result


class SAR:
    def __call__(self, stats):
        result = np.empty(len(stats["sample_log_likelihoods"]))
        for place, samples in enumerate(stats["sample_log_likelihoods"]):
            similarities = stats["sample_token_similarity"][place]
            probabilities = [float(np.exp(-sum(_entropies(*pair)))) for pair in zip(samples, similarities)]
            result[place] = _mean(probabilities, stats["sample_sentence_similarity"][place], self.t)
        return result


class TokenSARClaim:
    def __call__(self, stats):
        by_question = token_level_sar_scores(stats)
        return [
            [sum(scores[i] for i in claim.aligned_token_ids) for claim in row]
            for scores, row in zip(by_question, stats["claims"])
        ]
