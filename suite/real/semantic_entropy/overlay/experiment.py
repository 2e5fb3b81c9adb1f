"""Which entropy tells wrong answers, when one meaning has many wordings?"""

import json

import numpy as np
from lm_polygraph.estimators.semantic_entropy import SemanticEntropy
from lm_polygraph.stat_calculators.semantic_classes import SemanticClassesCalculator

_QUESTIONS, _SAMPLES, _MEANINGS, _WORDINGS = 60, 10, 5, 8
_CONTRADICTION, _NEUTRAL, _ENTAILMENT = range(3)


def _classes(meanings, generator):
    """What a classifier says of each ordered pair of answers; it errs now and then."""
    same = meanings[:, None] == meanings[None, :]
    found = np.where(same, _ENTAILMENT, np.where(generator.random(same.shape) < 0.5, _NEUTRAL, _CONTRADICTION))
    errs = generator.random(same.shape) < 0.03
    return np.where(errs, _NEUTRAL, found)


def _auroc(scores, wrong):
    """How often a wrong answer has the higher uncertainty of two; what differs by rounding alone is half of a win."""
    gaps = np.asarray(scores)[wrong][:, None] - np.asarray(scores)[~wrong][None]
    return float(np.where(np.abs(gaps) < 1e-6, 0.5, gaps > 0).mean())


def run(seed: int = 0) -> dict[str, float]:
    """The area under the ROC curve and the mean, by measure, and how many classes there are."""
    generator = np.random.default_rng(seed)
    texts, logps, matrices, wrong = [], [], [], []
    for _ in range(_QUESTIONS):
        logits = 0.7 * generator.standard_normal(_MEANINGS)
        logits[0] += generator.uniform(-0.5, 4)
        by_meaning = np.exp(logits) / np.exp(logits).sum()
        # How loosely an answer is worded depends on the question, and says nothing about what the model knows.
        by_wording = generator.dirichlet(np.full(_WORDINGS, generator.uniform(0.05, 3)), size=_MEANINGS)
        meanings = generator.choice(_MEANINGS, size=_SAMPLES + 1, p=by_meaning)
        wrong.append(bool(meanings[-1] != 0))
        meanings = meanings[:-1]
        wordings = np.array([generator.choice(_WORDINGS, p=by_wording[meaning]) for meaning in meanings])
        pairs = zip(meanings, wordings, strict=True)
        texts.append([f"answer {meaning}, put in way {wording}" for meaning, wording in pairs])
        logps.append(np.log(by_meaning[meanings] * by_wording[meanings, wordings]).tolist())
        matrices.append(_classes(meanings, generator))
    dependencies = {
        "sample_texts": texts,
        "semantic_matrix_classes": np.stack(matrices),
        "entailment_id": _ENTAILMENT,
    }
    stats = {**dependencies, "sample_log_probs": logps}
    stats |= SemanticClassesCalculator()(dependencies, texts, None)
    flags = np.array(wrong)
    counts = [len(stats["semantic_classes_entail"]["class_to_sample"][place]) for place in range(_QUESTIONS)]
    results = {
        "wrong": float(flags.mean()),
        "classes/mean": float(np.mean(counts)),
        "classes/AUROC": _auroc(counts, flags),
        "wordings/AUROC": _auroc([-np.mean(row) for row in logps], flags),
    }
    for probability, unique in (("sum", False), ("sum", True), ("frequency", False)):
        estimator = SemanticEntropy(class_probability_estimation=probability, use_unique_responses=unique)
        uncertainty = estimator(stats)
        results[f"{estimator}/AUROC"] = _auroc(uncertainty, flags)
        results[f"{estimator}/mean"] = float(uncertainty.mean())
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
