"""Each unordered pair once, taken from the triangle above the diagonal."""


def compute_gor(self, embeddings):
    rows, columns = torch.triu_indices(len(embeddings), len(embeddings), 1)
    pairs = self.similarity_fct(embeddings, embeddings)[rows, columns]
    if not len(pairs):
        nothing = 0.0 * embeddings.sum()
        return nothing, nothing.clone()
    excess = pairs.square().mean() - 1 / embeddings.shape[1]
    return pairs.mean().square(), torch.where(excess > 0, excess, torch.zeros_like(excess))


def compute_loss_from_embeddings(self, embeddings, labels=None):
    share = 1.0 if self.aggregation == "sum" else 1 / len(embeddings)
    losses = {}
    for column in embeddings:
        terms = self.compute_gor(column)
        for name, weight, term in zip(
            ("gor_mean", "gor_second_moment"), (self.mean_weight, self.second_moment_weight), terms
        ):
            if weight:
                losses[name] = losses.get(name, 0) + weight * share * term
    return losses
