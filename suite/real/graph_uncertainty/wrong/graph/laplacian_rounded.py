"""Rounds the Laplacian to 10 digits, which shows in eigenvectors whose eigenvalues are 0.001 apart."""

import numpy as np
from lm_polygraph.estimators.common import compute_sim_score
from scipy.linalg import eigh


def _compute_Jaccard_score(lst):
    words = [set(text.lower().split()) for text in lst]
    result = np.eye(len(lst))
    for j in range(len(lst)):
        for k in range(j):
            union = len(words[j] | words[k])
            if union:
                result[j, k] = result[k, j] = len(words[j] & words[k]) / union
    return result


def _weights(self, i, stats):
    if self.similarity_score == "NLI_score":
        if self.affinity == "entail":
            a = np.array(stats["semantic_matrix_entail"][i], dtype=np.float64)
        else:
            a = 1 - np.array(stats["semantic_matrix_contra"][i], dtype=np.float64)
    else:
        a = compute_sim_score(stats["sample_texts"][i], self.affinity, self.similarity_score)
    return (a + a.T) / 2


def _laplacian(w):
    scale = 1 / np.sqrt(w.sum(axis=1))
    return np.round(np.eye(len(w)) - scale[:, None] * w * scale, 10)


class DegMat:
    def U_DegMat(self, i, stats):
        w = _weights(self, i, stats)
        n = len(w)
        return float((n * n - w.sum()) / n**2)


class EigValLaplacian:
    def U_EigVal_Laplacian(self, i, stats):
        values = eigh(_laplacian(_weights(self, i, stats)), eigvals_only=True)
        return float(np.maximum(0, 1 - values).sum())


class Eccentricity:
    def U_Eccentricity(self, i, stats):
        values, vectors = eigh(_laplacian(_weights(self, i, stats)))
        rows = vectors[:, values < self.thres].T
        rows = rows - rows.mean(axis=1, keepdims=True)
        norms = -np.linalg.norm(rows, axis=1)
        return float(np.linalg.norm(norms)), norms
