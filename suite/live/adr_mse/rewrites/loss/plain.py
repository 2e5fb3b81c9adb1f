"""Query by query, with all differences of its scores."""


def approximate_ranks(self, scores, mask):
    above = torch.sigmoid(self.alpha * (scores[:, None, :] - scores[:, :, None]))
    others = mask[:, None, :] & ~torch.eye(scores.shape[1], dtype=torch.bool)
    return 1 + (above * others).sum(-1)


def forward(self, inputs, labels, prompt=None, task=None):
    queries, documents = inputs
    pairs = [(query, document) for query, some in zip(queries, documents) for document in some]
    size = self.mini_batch_size or len(queries)
    if size < 0:
        size = len(pairs)
    scores = []
    for start in range(0, len(pairs), size):
        features = self.model.preprocess(pairs[start : start + size], prompt=prompt, task=task)
        scores.append(self.model(features)["scores"].flatten())
    scores = self.activation_fn(torch.cat(scores).float())
    total = 0
    for own, wanted in zip(scores.split([len(some) for some in documents]), labels):
        greater = (wanted[None] > wanted[:, None]).sum(1)
        equal = (wanted[None] == wanted[:, None]).sum(1)
        ranks = greater + (equal + 1) / 2
        found = self.approximate_ranks(own[None], torch.ones(1, len(own), dtype=torch.bool))[0]
        total = total + ((ranks - found) ** 2 / torch.log2(ranks + 1)).sum()
    return total / len(pairs)
