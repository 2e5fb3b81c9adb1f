"""Similarities with t on the diagonal, so that a product with the probabilities gives what each response stands for."""


def _sums(likelihoods, similarities):
    lost = 1 - np.asarray(similarities, dtype=np.float64)
    return np.asarray(likelihoods, dtype=np.float64) @ lost / -max(lost.sum(), 1e-300)


def _uncertainty(logps, matrix, t):
    table = np.array(matrix, dtype=np.float64)
    np.fill_diagonal(table, t)
    return np.mean(np.log(t) - np.log(table @ np.exp(logps)))


def token_level_sar_scores(stats):
    result = []
    for likelihoods, similarities in zip(stats["greedy_log_likelihoods"], stats["token_similarity"], strict=True):
        lost = 1 - np.asarray(similarities, dtype=np.float64)
        shares = np.divide(lost, lost.sum(), out=np.zeros_like(lost), where=lost != 0)
        result.append(shares * np.negative(np.asarray(likelihoods, dtype=np.float64)))
    return result


class TokenSAR:
    def __call__(self, stats):
        found = map(_sums, stats["greedy_log_likelihoods"], stats["token_similarity"])
        return np.fromiter(found, dtype=np.float64)


class SentenceSAR:
    def __call__(self, stats):
        found = [
            _uncertainty(np.asarray(logps), matrix, self.t)
            for logps, matrix in zip(stats["sample_log_probs"], stats["sample_sentence_similarity"])
        ]
        return np.array(found, dtype=np.float64)


class SAR:
    def __call__(self, stats):
        shifted = {
            "sample_log_probs": [
                [-_sums(*pair) for pair in zip(*both)]
                for both in zip(stats["sample_log_likelihoods"], stats["sample_token_similarity"])
            ]
        }
        pairs = zip(shifted["sample_log_probs"], stats["sample_sentence_similarity"])
        return np.array([_uncertainty(np.array(logps), matrix, self.t) for logps, matrix in pairs], dtype=np.float64)


class TokenSARClaim:
    def __call__(self, stats):
        result = []
        for scores, claims in zip(token_level_sar_scores(stats), stats["claims"]):
            counts = [np.bincount(claim.aligned_token_ids, minlength=len(scores)) for claim in claims]
            result.append([float(count @ scores) for count in counts])
        return result
