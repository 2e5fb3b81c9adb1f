"""Row by row: what each embedding has in common with all others."""


def compute_gor(self, embeddings):
    number = len(embeddings)
    similarities = self.similarity_fct(embeddings, embeddings)
    first = second = 0.0 * embeddings.sum()
    for row in range(number):
        others = torch.cat([similarities[row, :row], similarities[row, row + 1 :]])
        first = first + others.sum()
        second = second + (others**2).sum()
    if number > 1:
        first, second = (item / (number * (number - 1)) for item in (first, second))
    return first * first, torch.nn.functional.relu(second - 1.0 / embeddings.size(-1))


def compute_loss_from_embeddings(self, embeddings, labels=None):
    first, second = 0.0, 0.0
    for column in embeddings:
        mean_term, second_moment_term = self.compute_gor(column)
        first, second = first + mean_term, second + second_moment_term
    if self.aggregation == "mean":
        first, second = first / len(embeddings), second / len(embeddings)
    results = {}
    if self.mean_weight is not None and self.mean_weight != 0:
        results["gor_mean"] = first * self.mean_weight
    if self.second_moment_weight is not None and self.second_moment_weight != 0:
        results["gor_second_moment"] = second * self.second_moment_weight
    return results
