"""The loss has a forward of its own, a closure over the first round's outputs; the decorator stands beside it."""

import torch


def _cut(tensor, dim):
    wide = tensor.size(-1)
    if dim > wide:
        raise ValueError("an embedding is too short")
    prefix = tensor.split([dim, wide - dim], dim=-1)[0]
    squares = torch.einsum("...d,...d->...", prefix.double(), prefix.double()).unsqueeze(-1)
    return (prefix.double() * squares.clamp_min(1e-30).rsqrt()).to(tensor.dtype)


def _cut_both(output, dim):
    wanted = ("token_embeddings", "sentence_embedding")
    return {name: _cut(item, dim) if name in wanted else item for name, item in output.items()}


class ForwardDecorator:
    def shrink(self, tensor):
        return _cut(tensor, self.dim)

    def __call__(self, features):
        if self.cache_dim in (None, self.dim):
            self.cache_dim = self.dim
            self.cache.append(self.fn(features))
        place = self.idx
        self.idx = place + 1
        return _cut_both(self.cache[place], self.dim)


class MatryoshkaLoss:
    def forward(self, sentence_features, labels):
        chosen = [*zip(self.matryoshka_dims, self.matryoshka_weights)]
        if self.n_dims_per_step > 0 and self.n_dims_per_step < len(chosen):
            drawn = random.sample(range(len(chosen)), self.n_dims_per_step)
            chosen = [chosen[place] for place in drawn]
        model = self.model
        own = model.__dict__.get("forward")
        embed = model.forward
        outputs = []
        total = None

        def first(dim):
            def forward(features):
                outputs.append(embed(features))
                return _cut_both(outputs[-1], dim)

            return forward

        def later(dim):
            given = iter(outputs)
            return lambda features: _cut_both(next(given), dim)

        try:
            for turn, (dim, weight) in enumerate(chosen):
                model.forward = (later if turn else first)(dim)
                term = self.loss(sentence_features, labels) * weight
                total = term if total is None else total + term
        finally:
            del model.forward
            if own is not None:
                model.forward = own
        return total
