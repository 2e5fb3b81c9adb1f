"""Sums over the matrix, less those over its diagonal."""


def compute_gor(self, embeddings):
    rows, width = embeddings.shape
    similarities = self.similarity_fct(embeddings, embeddings)
    diagonal = similarities.diagonal()
    number = rows * (rows - 1)
    mean = (similarities.sum() - diagonal.sum()) / number
    second = (similarities.square().sum() - diagonal.square().sum()) / number
    return mean**2, torch.relu(second - 1 / width)


def compute_loss_from_embeddings(self, embeddings, labels=None):
    means, seconds = zip(*(self.compute_gor(column) for column in embeddings))
    combine = torch.sum if self.aggregation == "sum" else torch.mean
    losses = {}
    if self.mean_weight:
        losses["gor_mean"] = self.mean_weight * combine(torch.stack(means))
    if self.second_moment_weight:
        losses["gor_second_moment"] = self.second_moment_weight * combine(torch.stack(seconds))
    return losses
