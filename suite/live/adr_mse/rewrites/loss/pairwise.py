"""All pairs of documents of the batch at once, of which only those of one query count; no padding."""


def approximate_ranks(self, scores, mask):
    ranks = torch.ones_like(scores)
    for place in range(scores.shape[1]):
        above = torch.special.expit(self.alpha * (scores[:, place : place + 1] - scores)) * mask[:, place : place + 1]
        above = torch.cat([above[:, :place], torch.zeros_like(above[:, :1]), above[:, place + 1 :]], dim=1)
        ranks = ranks + above
    return ranks


def forward(self, inputs, labels, prompt=None, task=None):
    if torch.is_tensor(labels) or len(inputs) != 2:
        raise ValueError("two inputs and a list of labels are needed")
    counts = [len(some) for some in inputs[1]]
    if len(counts) != len(labels) or any(count != len(some) for count, some in zip(counts, labels)):
        raise ValueError("documents and labels differ in number")
    pairs = [(query, document) for query, some in zip(*inputs) for document in some]
    step = len(inputs[0]) if self.mini_batch_size is None else self.mini_batch_size
    step = step if step > 0 else len(pairs)
    outputs = []
    while len(outputs) * step < len(pairs):
        some = pairs[len(outputs) * step :][:step]
        outputs.append(self.model(self.model.preprocess(some, prompt=prompt, task=task))["scores"])
    scores = self.activation_fn(torch.cat(outputs).reshape(-1).to(torch.float32))
    owner = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
    together = owner[:, None] == owner[None, :]
    wanted = torch.cat(list(labels))
    ranks = (together & (wanted[None, :] > wanted[:, None])).sum(1).float()
    ranks += 0.5 * (together & (wanted[None, :] == wanted[:, None])).sum(1) + 0.5
    other = together & ~torch.eye(len(pairs), dtype=torch.bool)
    above = torch.sigmoid(self.alpha * (scores[None, :] - scores[:, None])).masked_fill(~other, 0.0)
    errors = (1 + above.sum(1) - ranks).square() / torch.log2(1 + ranks)
    return errors.mean()
