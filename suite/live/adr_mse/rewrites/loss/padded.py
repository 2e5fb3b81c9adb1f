"""Padded matrices by pad_sequence, with infinite labels and a triangle of differences."""

from torch.nn.utils.rnn import pad_sequence


def approximate_ranks(self, scores, mask):
    places = scores.shape[1]
    rows, columns = torch.triu_indices(places, places, 1)
    below = torch.sigmoid(self.alpha * (scores[:, rows] - scores[:, columns]))
    ranks = torch.ones_like(scores)
    ranks = ranks.index_add(1, columns, below * mask[:, rows])
    return ranks.index_add(1, rows, (1 - below) * mask[:, columns])


def forward(self, inputs, labels, prompt=None, task=None):
    if isinstance(labels, torch.Tensor):
        raise ValueError("labels are a list with a tensor for each query")
    if len(inputs) != 2:
        raise ValueError(f"expected queries and documents, not {len(inputs)} inputs")
    queries, documents = inputs
    counts = torch.tensor([len(some) for some in documents])
    if counts.tolist() != [len(some) for some in labels]:
        raise ValueError("queries have other numbers of labels than of documents")
    pairs = [(query, document) for query, some in zip(queries, documents) for document in some]
    size = len(queries) if self.mini_batch_size is None else self.mini_batch_size
    chunks = [pairs[start : start + size] for start in range(0, len(pairs), size)] if size > 0 else [pairs]
    scores = [self.model(self.model.preprocess(chunk, prompt=prompt, task=task))["scores"] for chunk in chunks]
    scores = self.activation_fn(torch.cat([some.view(-1) for some in scores]).float())
    scores = pad_sequence(list(scores.split(counts.tolist())), batch_first=True)
    wanted = pad_sequence([some.float() for some in labels], batch_first=True, padding_value=-torch.inf)
    mask = torch.arange(scores.shape[1]) < counts[:, None]
    # Each document that is better counts one, each that is equal, and itself, a half.
    signs = torch.sign(wanted[:, None, :] - wanted[:, :, None]).nan_to_num(0.0)
    ranks = 0.5 + 0.5 * ((signs + 1) * mask[:, None, :]).sum(-1)
    error = (ranks - self.approximate_ranks(scores, mask))[mask].square()
    return torch.dot(error, 1 / torch.log2(1 + ranks[mask])) / counts.sum()
