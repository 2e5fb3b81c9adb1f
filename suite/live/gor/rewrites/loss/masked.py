"""A matrix of ones off the diagonal as a mask, and products of all columns in double precision."""


def compute_gor(self, embeddings):
    count, width = embeddings.shape
    mask = 1.0 - torch.eye(count, dtype=torch.float64)
    values = self.similarity_fct(embeddings, embeddings).double()
    number = mask.sum().clamp(min=1)
    first = torch.tensordot(values, mask, dims=2) / number
    second = torch.tensordot(values * values, mask, dims=2) / number
    term = first.pow(2), (second - 1 / width).clamp(min=0)
    return tuple(item.to(embeddings.dtype) for item in term)


def compute_loss_from_embeddings(self, embeddings, labels=None):
    terms = torch.stack([torch.stack(self.compute_gor(column)) for column in embeddings], dim=1)
    total = terms.sum(dim=1) if self.aggregation == "sum" else terms.mean(dim=1)
    settings = {"gor_mean": self.mean_weight, "gor_second_moment": self.second_moment_weight}
    return {
        name: weight * term
        for (name, weight), term in zip(settings.items(), total)
        if weight is not None and weight != 0
    }
