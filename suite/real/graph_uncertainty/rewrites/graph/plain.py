"""The shortest code for the four functions."""


def _similarities(self, i, stats):
    if self.similarity_score == "Jaccard_score":
        return compute_sim_score(stats["sample_texts"][i], self.affinity, self.similarity_score)
    matrix = stats["semantic_matrix_entail"][i] if self.affinity == "entail" else 1 - stats["semantic_matrix_contra"][i]
    return (matrix + matrix.T) / 2


def _laplacian(self, i, stats):
    matrix = _similarities(self, i, stats)
    roots = np.sqrt(matrix.sum(axis=1))
    return np.eye(len(matrix)) - matrix / np.outer(roots, roots)


def _compute_Jaccard_score(lst):
    bags = [set(text.lower().split()) for text in lst]
    return np.array([[len(a & b) / len(a | b) for b in bags] for a in bags])


class DegMat:
    def U_DegMat(self, i, stats):
        return 1 - _similarities(self, i, stats).mean()


class EigValLaplacian:
    def U_EigVal_Laplacian(self, i, stats):
        return np.maximum(1 - np.linalg.eigvalsh(_laplacian(self, i, stats)), 0).sum()


class Eccentricity:
    def U_Eccentricity(self, i, stats):
        values, vectors = np.linalg.eigh(_laplacian(self, i, stats))
        embeddings = vectors[:, values < self.thres]
        distances = np.linalg.norm(embeddings - embeddings.mean(axis=0), axis=1)
        return np.linalg.norm(distances), -distances
