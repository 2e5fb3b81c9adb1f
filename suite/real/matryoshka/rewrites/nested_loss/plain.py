"""Keeps whole outputs of the first round, and normalises their prefixes."""


class ForwardDecorator:
    def shrink(self, tensor):
        return F.normalize(tensor[..., : self.dim], dim=-1)

    def __call__(self, features):
        if self.cache_dim in (None, self.dim):
            self.cache_dim = self.dim
            self.cache.append(self.fn(features))
        output = dict(self.cache[self.idx])
        self.idx += 1
        for name in ("sentence_embedding", "token_embeddings"):
            if name in output:
                output[name] = self.shrink(output[name])
        return output


class MatryoshkaLoss:
    def forward(self, sentence_features, labels):
        places = range(len(self.matryoshka_dims))
        if 0 < self.n_dims_per_step < len(places):
            places = sorted(random.sample(places, self.n_dims_per_step))
        original = self.model.forward
        self.model.forward = decorator = ForwardDecorator(original)
        total = 0
        for place in places:
            decorator.set_dim(self.matryoshka_dims[place])
            total = total + self.matryoshka_weights[place] * self.loss(sentence_features, labels)
        self.model.forward = original
        return total
