"""Never leaves the logarithms: a stable sum of exponentials for each response, in plain Python."""

import math


def _shifted(likelihoods, similarities):
    relevance = [1.0 - float(value) for value in similarities]
    whole = math.fsum(relevance)
    return [-float(value) * part / whole for value, part in zip(likelihoods, relevance)]


def _log_of_sum(values):
    top = max(values)
    return top + math.log(math.fsum(math.exp(value - top) for value in values))


def _mean_over_responses(logps, matrix, t):
    terms = []
    for j, own in enumerate(logps):
        row = [float(value) for value in matrix[j]]
        near = [math.log(row[k]) - math.log(t) + other for k, other in enumerate(logps) if k != j and row[k] > 0]
        terms.append(-_log_of_sum([float(own), *near]))
    return math.fsum(terms) / len(terms)


def token_level_sar_scores(stats):
    pairs = zip(stats["greedy_log_likelihoods"], stats["token_similarity"])
    return [np.array(_shifted(*pair), dtype=float) for pair in pairs]


class TokenSAR:
    def __call__(self, stats):
        pairs = zip(stats["greedy_log_likelihoods"], stats["token_similarity"])
        return np.array([math.fsum(_shifted(*pair)) for pair in pairs], dtype=float)


class SentenceSAR:
    def __call__(self, stats):
        questions = zip(stats["sample_log_probs"], stats["sample_sentence_similarity"])
        return np.array([_mean_over_responses(*question, self.t) for question in questions], dtype=float)


class SAR:
    def __call__(self, stats):
        result = []
        for place, matrix in enumerate(stats["sample_sentence_similarity"]):
            pairs = zip(stats["sample_log_likelihoods"][place], stats["sample_token_similarity"][place])
            logps = [-math.fsum(_shifted(*pair)) for pair in pairs]
            result.append(_mean_over_responses(logps, matrix, self.t))
        return np.array(result, dtype=float)


class TokenSARClaim:
    def __call__(self, stats):
        result = []
        for place, claims in enumerate(stats["claims"]):
            scores = _shifted(stats["greedy_log_likelihoods"][place], stats["token_similarity"][place])
            result.append([math.fsum(scores[token] for token in claim.aligned_token_ids) for claim in claims])
        return result
