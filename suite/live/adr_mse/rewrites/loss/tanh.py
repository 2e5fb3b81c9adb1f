"""Sigmoids by hyperbolic tangents, target ranks by sorting, and sums in double precision."""

import math


def approximate_ranks(self, scores, mask):
    halves = 0.5 * self.alpha * (scores.unsqueeze(-2) - scores.unsqueeze(-1))
    above = 0.5 + 0.5 * torch.tanh(halves)
    above = torch.where(mask.unsqueeze(-2), above, torch.zeros_like(above))
    return 1 + above.sum(-1) - above.diagonal(dim1=-2, dim2=-1)


def _target_ranks(labels):
    labels = labels.tolist()
    places = sorted(range(len(labels)), key=lambda place: -labels[place])
    ranks = [0.0] * len(labels)
    start = 0
    while start < len(places):
        end = start
        while end < len(places) and labels[places[end]] == labels[places[start]]:
            end += 1
        for place in places[start:end]:
            ranks[place] = (start + 1 + end) / 2
        start = end
    return ranks


def forward(self, inputs, labels, prompt=None, task=None):
    if isinstance(labels, Tensor):
        raise ValueError("labels must be a list of tensors")
    if len(inputs) != 2:
        raise ValueError("inputs must be queries and documents")
    queries, documents = inputs
    if [len(some) for some in documents] != [some.numel() for some in labels]:
        raise ValueError("each document needs a label")
    pairs = [(queries[row], document) for row, some in enumerate(documents) for document in some]
    size = self.mini_batch_size
    if size is None:
        size = len(queries)
    elif size < 0:
        size = len(pairs)
    parts = []
    for start in range(0, len(pairs), size):
        features = batch_to_device(
            self.model.preprocess(pairs[start : start + size], prompt=prompt, task=task), self.model.device
        )
        parts.append(self.model(features)["scores"].reshape(-1).float())
    scores = self.activation_fn(torch.cat(parts)).double()
    start, errors = 0, []
    for some in labels:
        own = scores[start : start + len(some)]
        start += len(some)
        found = self.approximate_ranks(own.unsqueeze(0), torch.ones(1, len(some), dtype=torch.bool)).squeeze(0)
        for rank, guess in zip(_target_ranks(some), found):
            errors.append((guess - rank) ** 2 / math.log2(rank + 1))
    return torch.stack(errors).mean().float()
