"""Whole embeddings are kept, and cut anew in each round; a sum over rounds."""

import torch


class ForwardDecorator:
    def shrink(self, tensor):
        if tensor.shape[-1] < self.dim:
            raise ValueError(f"{self.dim} dimensions of {tensor.shape[-1]}")
        prefix = tensor.narrow(-1, 0, self.dim)
        norm = torch.linalg.vector_norm(prefix, dim=-1, keepdim=True)
        return prefix / torch.where(norm == 0, torch.ones_like(norm), norm)

    def __call__(self, features):
        if self.cache_dim is None:
            self.cache_dim = self.dim
        if self.cache_dim == self.dim:
            self.cache.append(self.fn(features))
        output = dict(self.cache[self.idx])
        self.idx += 1
        for name in {"sentence_embedding", "token_embeddings"}.intersection(output):
            output[name] = self.shrink(output[name])
        return output


class MatryoshkaLoss:
    def forward(self, sentence_features, labels):
        places = list(range(len(self.matryoshka_dims)))
        if 0 < self.n_dims_per_step < len(places):
            places = sorted(random.sample(places, self.n_dims_per_step))
        before = self.model.forward
        decorator = ForwardDecorator(before)
        self.model.forward = decorator
        losses = []
        try:
            for place in places:
                decorator.set_dim(self.matryoshka_dims[place])
                losses.append(self.matryoshka_weights[place] * self.loss(sentence_features, labels))
        finally:
            self.model.forward = before
        return sum(losses)
