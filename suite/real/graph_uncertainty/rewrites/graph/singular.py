"""Plain loops over pairs, and singular vectors of the Laplacian, whose eigenvalues are none below 0."""

import math


def _weights(self, i, stats):
    texts = stats["sample_texts"][i]
    if self.similarity_score == "Jaccard_score":
        return compute_sim_score(texts, self.affinity, self.similarity_score).tolist()
    contra = self.affinity == "contra"
    given = stats["semantic_matrix_contra" if contra else "semantic_matrix_entail"][i].tolist()
    there = range(len(given))
    return [
        [1 - (given[a][b] + given[b][a]) / 2 if contra else (given[a][b] + given[b][a]) / 2 for b in there]
        for a in there
    ]


def _spectrum(weights):
    roots = [math.sqrt(math.fsum(row)) for row in weights]
    there = range(len(weights))
    laplacian = np.array([[(a == b) - weights[a][b] / roots[a] / roots[b] for b in there] for a in there])
    vectors, values, _ = np.linalg.svd(laplacian)
    return values[::-1], vectors[:, ::-1]


def _compute_Jaccard_score(lst):
    result = []
    for i, one in enumerate(lst):
        row = []
        for j, other in enumerate(lst):
            words, others = set(one.lower().split()), set(other.lower().split())
            shared = [word for word in words if word in others]
            total = len(words) + len(others) - len(shared)
            row.append(1.0 if i == j else len(shared) / total if total else 0.0)
        result.append(row)
    return np.array(result)


class DegMat:
    def U_DegMat(self, i, stats):
        weights = _weights(self, i, stats)
        return 1 - math.fsum(value for row in weights for value in row) / len(weights) ** 2


class EigValLaplacian:
    def U_EigVal_Laplacian(self, i, stats):
        values, _ = _spectrum(_weights(self, i, stats))
        return math.fsum(1 - value for value in values if value < 1)


class Eccentricity:
    def U_Eccentricity(self, i, stats):
        values, vectors = _spectrum(_weights(self, i, stats))
        columns = [vectors[:, k] for k, value in enumerate(values) if value < self.thres]
        entries = np.array([-math.sqrt(math.fsum((x - column.mean()) ** 2 for x in column)) for column in columns])
        return math.hypot(*entries), entries
