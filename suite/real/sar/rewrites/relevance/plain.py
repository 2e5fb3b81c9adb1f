"""The shortest code for the five functions."""


def _shifted(log_likelihoods, similarities):
    relevance = 1 - np.array(similarities, float)
    return -np.array(log_likelihoods) * relevance / relevance.sum()


def _sentences(probabilities, similarities, t):
    others = similarities * (1 - np.eye(len(probabilities)))
    return -np.log(probabilities + others @ probabilities / t).mean()


def token_level_sar_scores(stats):
    return [_shifted(*pair) for pair in zip(stats["greedy_log_likelihoods"], stats["token_similarity"])]


class TokenSAR:
    def __call__(self, stats):
        return np.array([scores.sum() for scores in token_level_sar_scores(stats)])


class SentenceSAR:
    def __call__(self, stats):
        questions = zip(stats["sample_log_probs"], stats["sample_sentence_similarity"])
        return np.array([_sentences(np.exp(logps), similarities, self.t) for logps, similarities in questions])


class SAR:
    def __call__(self, stats):
        result = []
        keys = ("sample_log_likelihoods", "sample_token_similarity", "sample_sentence_similarity")
        for samples, token_similarities, similarities in zip(*(stats[key] for key in keys)):
            shifted = [_shifted(*pair).sum() for pair in zip(samples, token_similarities)]
            result.append(_sentences(np.exp(-np.array(shifted)), similarities, self.t))
        return np.array(result)


class TokenSARClaim:
    def __call__(self, stats):
        questions = zip(token_level_sar_scores(stats), stats["claims"])
        return [[scores[claim.aligned_token_ids].sum() for claim in claims] for scores, claims in questions]
