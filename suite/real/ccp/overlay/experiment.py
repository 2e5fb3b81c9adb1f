"""Which uncertainty tells wrong claims, when a model may also hesitate about wording and about what to say next?"""

import json

import numpy as np
from lm_polygraph.estimators.claim.claim_conditioned_probability import ClaimConditionedProbabilityClaim
from lm_polygraph.estimators.claim_conditioned_probability import ClaimConditionedProbability
from lm_polygraph.stat_calculators.extract_claims import Claim
from lm_polygraph.stat_calculators.greedy_alternatives_nli import GreedyAlternativesNLICalculator
from lm_polygraph.utils.deberta import Deberta

_ANSWERS, _CLAIMS, _KINDS, _SENSES, _WORDINGS = 20, 3, 4, 3, 2
_LEXICON = {
    f"w{kind}{sense}{wording}": (kind, sense)
    for kind in range(_KINDS)
    for sense in range(_SENSES)
    for wording in range(_WORDINGS)
}


def _position(generator, knows, loose, drifts):
    """Alternatives of one position, the greedy one first, and whether its sense is the true one, which is 0."""
    kind = int(generator.integers(_KINDS))
    by_sense = np.full(_SENSES, (1 - knows) / (_SENSES - 1))
    by_sense[0] = knows
    by_wording = np.array([1 - loose / 2, loose / 2])
    table = {
        f" w{kind}{s}{w}": (1 - drifts) * by_sense[s] * by_wording[w] for s in range(_SENSES) for w in range(_WORDINGS)
    }
    table |= {f" w{(kind + 1) % _KINDS}{s}0,": drifts / _SENSES for s in range(_SENSES)}
    # The model's numbers are not quite what it knows.
    logs = {word: np.log(share) + 0.3 * generator.standard_normal() for word, share in table.items()}
    total = np.logaddexp.reduce(list(logs.values()))
    ranked = sorted(((word, float(value - total)) for word, value in logs.items()), key=lambda pair: -pair[1])
    of_kind = [word for word, _ in ranked if word[2] == str(kind)]
    greedy = next(place for place, (word, _) in enumerate(ranked) if word == of_kind[0])
    truth = int(generator.choice(_SENSES, p=by_sense))
    return [ranked[greedy], *ranked[:greedy], *ranked[greedy + 1 :]], int(of_kind[0][3]) == truth


def _auroc(scores, wrong):
    """How often a wrong claim has the higher uncertainty of two; what differs by rounding alone is half of a win."""
    gaps = np.asarray(scores)[wrong][:, None] - np.asarray(scores)[~wrong][None]
    return float(np.where(np.abs(gaps) < 1e-6, 0.5, gaps > 0).mean())


def run(seed: int = 0) -> dict[str, float]:
    """The area under the ROC curve and the mean, by measure, and how classes of alternatives are distributed."""
    generator = np.random.default_rng(seed)
    tokens, alternatives, claims, wrong = [], [], [], []
    for _ in range(_ANSWERS):
        answer, found = [], []
        for _ in range(_CLAIMS):
            knows, loose, drifts = generator.uniform(0.4, 0.98), generator.uniform(0, 0.9), generator.uniform(0.01, 0.5)
            answer.append([("the", -0.4), ("a", -1.5), ("w100", -3.0)])
            position, right = _position(generator, knows, loose + 0.01, drifts)
            answer.append(position)
            found.append(Claim(aligned_token_ids=[len(answer) - 2, len(answer) - 1]))
            wrong.append(not right)
        tokens.append([position[0][0] for position in answer])
        alternatives.append(answer)
        claims.append(found)
    stats = {"greedy_tokens": tokens, "greedy_tokens_alternatives": alternatives, "claims": claims}
    stats |= GreedyAlternativesNLICalculator(Deberta(_LEXICON))(stats, [], None)
    flags = np.array(wrong)
    rows = [matrix[0][1:] for answer in stats["greedy_tokens_alternatives_nli"] for matrix in answer]
    said = [word for row in rows for word in row]
    results = {f"alternatives/{name}": said.count(name) / len(said) for name in ("entail", "contra", "neutral")}
    results["wrong"] = float(flags.mean())
    likely = [
        -sum(answer[t][0][1] for t in claim.aligned_token_ids)
        for answer, row in zip(alternatives, claims, strict=True)
        for claim in row
    ]
    results["probability of tokens/AUROC"] = _auroc(likely, flags)
    by_claim = [value for row in ClaimConditionedProbabilityClaim()(stats) for value in row]
    results["claims/AUROC"] = _auroc(by_claim, flags)
    results["claims/mean"] = float(np.mean(by_claim))
    results["answers/mean"] = float(ClaimConditionedProbability()(stats).mean())
    results["answers/spread"] = float(ClaimConditionedProbability()(stats).std())
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
