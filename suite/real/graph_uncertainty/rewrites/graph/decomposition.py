"""A Laplacian by products, its decomposition by scipy, and norms of whole matrices."""

import scipy.linalg as linalg


def _laplacian(self, i, stats):
    if self.similarity_score == "Jaccard_score":
        weights = compute_sim_score(
            answers=stats["sample_texts"][i], affinity=None, similarity_score=self.similarity_score
        )
    else:
        name = f"semantic_matrix_{self.affinity}"
        forward = np.array(stats[name][i], dtype=np.float64)
        if self.affinity == "contra":
            forward = 1 - forward
        weights = np.mean([forward, forward.T], axis=0)
    scale = np.diag(weights.sum(axis=1) ** -0.5)
    return weights, np.identity(len(weights)) - scale @ weights @ scale


def _compute_Jaccard_score(lst):
    bags = [frozenset(text.lower().split()) for text in lst]
    words = sorted(frozenset().union(*bags))
    table = np.array([[word in bag for word in words] for bag in bags], dtype=np.float64).reshape(len(bags), len(words))
    both = table @ table.T
    sizes = table.sum(axis=1)
    either = sizes[:, None] + sizes[None] - both
    result = np.divide(both, either, out=np.zeros_like(both), where=either > 0)
    np.fill_diagonal(result, 1)
    return result


class DegMat:
    def U_DegMat(self, i, stats):
        weights, _ = _laplacian(self, i, stats)
        count = len(weights)
        return sum(count - degree for degree in weights.sum(axis=1)) / count**2


class EigValLaplacian:
    def U_EigVal_Laplacian(self, i, stats):
        _, laplacian = _laplacian(self, i, stats)
        values = linalg.eigvalsh(laplacian)
        return np.maximum(1 - values, 0).sum()


class Eccentricity:
    def U_Eccentricity(self, i, stats):
        _, laplacian = _laplacian(self, i, stats)
        values, vectors = linalg.eigh(laplacian)
        count = int(np.searchsorted(values, self.thres))
        embeddings = vectors[:, :count]
        centred = embeddings - embeddings.mean(axis=0, keepdims=True)
        return np.linalg.norm(centred), -np.linalg.norm(centred, axis=0)
