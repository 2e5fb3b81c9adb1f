"""Sums instead of diagonal matrices, eigenvalues of the normalised similarities, and sums of squares."""

from collections import Counter


def _similarities(self, i, stats):
    if self.similarity_score == "Jaccard_score":
        return compute_sim_score(stats["sample_texts"][i], self.affinity, self.similarity_score)
    if self.affinity == "entail":
        matrix = stats["semantic_matrix_entail"][i].astype(np.float64)
    else:
        matrix = 1.0 - stats["semantic_matrix_contra"][i].astype(np.float64)
    return 0.5 * matrix + 0.5 * matrix.T


def _normalised(matrix):
    degrees = matrix.sum(axis=0)
    return matrix / np.sqrt(np.multiply.outer(degrees, degrees))


def _compute_Jaccard_score(lst):
    bags = [Counter(dict.fromkeys(item.lower().split(), 1)) for item in lst]
    result = np.zeros((len(lst), len(lst)))
    for i, one in enumerate(bags):
        for j, other in enumerate(bags):
            either = sum((one | other).values())
            result[i, j] = 1.0 if i == j else sum((one & other).values()) / either if either else 0.0
    return result


class DegMat:
    def U_DegMat(self, i, stats):
        matrix = _similarities(self, i, stats)
        return float((1 - matrix).mean())


class EigValLaplacian:
    def U_EigVal_Laplacian(self, i, stats):
        values = np.linalg.eigvalsh(_normalised(_similarities(self, i, stats)))
        return float(values[values > 0].sum())


class Eccentricity:
    def U_Eccentricity(self, i, stats):
        values, vectors = np.linalg.eigh(_normalised(_similarities(self, i, stats)))
        values, vectors = 1 - values[::-1], vectors[:, ::-1]
        vectors = vectors[:, values < self.thres]
        deviations = vectors - np.add.reduce(vectors) / len(vectors)
        squares = np.einsum("jk,jk->k", deviations, deviations)
        return float(np.sqrt(squares.sum())), -np.sqrt(squares)
