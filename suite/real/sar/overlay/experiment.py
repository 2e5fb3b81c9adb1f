"""Which uncertainty tells wrong answers, when words that mean nothing are uncertain, too?"""

import json
from types import SimpleNamespace

import numpy as np
from lm_polygraph.estimators.claim.token_sar import TokenSARClaim
from lm_polygraph.estimators.sar import SAR
from lm_polygraph.estimators.sentence_sar import SentenceSAR
from lm_polygraph.estimators.token_sar import TokenSAR

_QUESTIONS, _SAMPLES, _MEANINGS, _FILLERS = 60, 6, 5, 12


def _response(generator, meaning, probabilities, looseness):
    """Log-likelihoods and similarities by token: fillers around one word that carries the meaning."""
    fillers = int(generator.integers(1, _FILLERS + 1))
    place = int(generator.integers(fillers + 1))
    # How surely a filler comes next depends on the question's style, not on what the model knows.
    likelihoods = -looseness * generator.exponential(size=fillers + 1)
    likelihoods[place] = np.log(probabilities[meaning])
    similarities = generator.uniform(0.93, 1.0, size=fillers + 1)
    similarities[place] = generator.uniform(0.1, 0.4)
    return likelihoods.tolist(), similarities, place


def _auroc(scores, wrong):
    """How often a wrong answer has the higher uncertainty of two."""
    return float((np.asarray(scores)[wrong][:, None] > np.asarray(scores)[~wrong][None]).mean())


def run(seed: int = 0) -> dict[str, float]:
    """The area under the ROC curve, by measure; the mean uncertainty of claims with a response's meaning or none."""
    generator = np.random.default_rng(seed)
    greedy, claims, wrong = [], [], []
    sampled = {key: [] for key in ("log_likelihoods", "token_similarity", "log_probs", "sentence_similarity")}
    for _ in range(_QUESTIONS):
        logits = 0.7 * generator.standard_normal(_MEANINGS)
        logits[0] += generator.uniform(-0.5, 4)
        probabilities = np.exp(logits) / np.exp(logits).sum()
        looseness = generator.uniform(0.1, 1.5)
        meanings = generator.choice(_MEANINGS, size=_SAMPLES + 1, p=probabilities)
        *samples, first = [_response(generator, meaning, probabilities, looseness) for meaning in meanings]
        greedy.append(first)
        wrong.append(bool(meanings[-1] != 0))
        sampled["log_likelihoods"].append([likelihoods for likelihoods, _, _ in samples])
        sampled["token_similarity"].append([similarities for _, similarities, _ in samples])
        sampled["log_probs"].append([sum(likelihoods) for likelihoods, _, _ in samples])
        same = meanings[:-1, None] == meanings[None, :-1]
        noise = generator.uniform(0, 0.1, size=same.shape)
        sampled["sentence_similarity"].append(np.where(same, 1 - noise, 0.05 + noise))
        others = [token for token in range(len(first[0])) if token != first[2]]
        claims.append([SimpleNamespace(aligned_token_ids=ids) for ids in ([first[2]], others)])
    stats = {f"sample_{key}": items for key, items in sampled.items()}
    stats["greedy_log_likelihoods"] = [likelihoods for likelihoods, _, _ in greedy]
    stats["token_similarity"] = [similarities for _, similarities, _ in greedy]
    stats["claims"] = claims
    flags = np.array(wrong)
    results = {
        "wrong": float(flags.mean()),
        "sum of entropies/AUROC": _auroc([-sum(item) for item in stats["greedy_log_likelihoods"]], flags),
        "mean of entropies/AUROC": _auroc([-np.mean(item) for item in stats["greedy_log_likelihoods"]], flags),
    }
    for estimator in (TokenSAR(), SentenceSAR(), SAR()):
        uncertainty = estimator(stats)
        results[f"{estimator}/AUROC"] = _auroc(uncertainty, flags)
        results[f"{estimator}/mean"] = float(uncertainty.mean())
    by_claim = np.array(TokenSARClaim()(stats))
    results["claims/meaning"], results["claims/fillers"] = by_claim.mean(axis=0).tolist()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
