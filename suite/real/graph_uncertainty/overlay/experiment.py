"""Does the uncertainty of each measure tell questions that are answered wrongly from the others?"""

import json

import numpy as np
from lm_polygraph.estimators.deg_mat import DegMat
from lm_polygraph.estimators.eccentricity import Eccentricity
from lm_polygraph.estimators.eig_val_laplacian import EigValLaplacian

_QUESTIONS, _RESPONSES, _MEANINGS = 60, 10, 5
_PHRASES = ("{}", "it is {}", "It is {} I think", "the answer is {}")
_NAMES = ("Oslo city", "Rome", "Lima in Peru", "Kyiv", "Bern town")


def _responses(generator: np.random.Generator) -> tuple[np.ndarray, list[str], bool]:
    """Meanings and texts of a question's responses, and whether the first one is wrong; 0 is right."""
    # Of an easy question most responses mean 0, of a hard one they scatter.
    logits = 0.7 * generator.standard_normal(_MEANINGS)
    logits[0] += generator.uniform(-0.5, 4)
    probabilities = np.exp(logits) / np.exp(logits).sum()
    meanings = generator.choice(_MEANINGS, size=_RESPONSES, p=probabilities)
    texts = [_PHRASES[generator.integers(len(_PHRASES))].format(_NAMES[meaning]) for meaning in meanings]
    return meanings, texts, bool(meanings[0] != 0)


def _judged(generator: np.random.Generator, meanings: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of entailment and of contradiction, from a judge that is unsure and makes errors."""
    same = meanings[:, None] == meanings[None]
    logits = 1.2 * generator.standard_normal((3, _RESPONSES, _RESPONSES))
    logits[0] += np.where(same, 2.5, -1.0)
    logits[2] += np.where(same, -1.5, 1.5)
    weights = np.exp(logits)
    probabilities = weights / weights.sum(axis=0)
    return probabilities[0], probabilities[2]


def _auroc(scores: np.ndarray, wrong: np.ndarray) -> float:
    """How often a wrong answer has the higher uncertainty of two; ties count half."""
    differences = scores[wrong][:, None] - scores[~wrong][None]
    # What differs by rounding alone is a tie.
    differences = np.where(np.abs(differences) < 1e-9, 0.0, differences)
    return float((0.5 * (1 + np.sign(differences))).mean())


def run(seed: int = 0) -> dict[str, float]:
    """The area under the ROC curve and the mean uncertainty, by measure and by what similarity is."""
    generator = np.random.default_rng(seed)
    texts, entail, contra, wrong = [], [], [], []
    for _ in range(_QUESTIONS):
        meanings, said, is_wrong = _responses(generator)
        judged = _judged(generator, meanings)
        texts.append(said)
        entail.append(judged[0])
        contra.append(judged[1])
        wrong.append(is_wrong)
    stats = {
        "sample_texts": texts,
        "semantic_matrix_entail": np.stack(entail),
        "semantic_matrix_contra": np.stack(contra),
    }
    results = {"wrong": float(np.mean(wrong))}
    kinds = ({"affinity": "entail"}, {"affinity": "contra"}, {"similarity_score": "Jaccard_score"})
    for measure in (DegMat, EigValLaplacian, Eccentricity):
        for settings in kinds:
            more = {"thres": 0.873} if measure is Eccentricity else {}
            estimator = measure(**settings, **more)
            uncertainty = estimator(stats)
            results[f"{estimator}/AUROC"] = _auroc(uncertainty, np.array(wrong))
            results[f"{estimator}/mean"] = float(uncertainty.mean())
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
