"""All losses first, then all divergences, from a stack of embeddings of layers, by distributions of torch."""

from torch.distributions import Categorical, kl_divergence


class TransformerDecorator:
    def get_layer_embeddings(self):
        return None

    def __call__(self, features):
        if self.layer_idx is not None:
            return self.call_use_cache(features)
        return self.call_grow_cache(features)

    def call_grow_cache(self, features):
        settings = self.transformer.auto_model.config.__dict__
        before = settings.get("output_hidden_states")
        settings["output_hidden_states"] = True
        try:
            output = self.original_forward(features)
        finally:
            settings["output_hidden_states"] = before
        self.features.append(output)
        return {**output}

    def call_use_cache(self, features):
        output = self.features[self.call_idx]
        self.call_idx += 1
        states = output["all_layer_embeddings"]
        return {name: item for name, item in output.items() if name != "all_layer_embeddings"} | {
            "token_embeddings": states[1:][self.layer_idx]
        }


class ForwardDecorator:
    def __call__(self, features):
        self.embeddings.append(None)
        output = self.fn(features)
        self.embeddings[-1] = output["sentence_embedding"]
        return output

    def get_embeddings(self):
        found, self.embeddings = self.embeddings, []
        return torch.cat(found, 0)


class AdaptiveLayerLoss:
    def forward(self, sentence_features, labels):
        transformer, model = self.model[0], self.model
        originals = transformer.forward, model.forward
        inner, outer = TransformerDecorator(transformer, originals[0]), ForwardDecorator(originals[1])
        transformer.forward, model.forward = inner, outer
        losses, embeddings = [self.loss(sentence_features, labels)], [outer.get_embeddings()]
        layers = len(inner.features[0]["all_layer_embeddings"]) - 2
        if self.n_layers_per_step in range(1, layers):
            chosen = random.sample(range(layers), self.n_layers_per_step)
        else:
            chosen = list(range(layers))
        for layer in chosen:
            inner.set_layer_idx(layer)
            losses.append(self.loss(sentence_features, labels))
            embeddings.append(outer.get_embeddings())
        transformer.forward, model.forward = originals
        factors = [self.last_layer_weight]
        factors += [self.prior_layers_weight / len(chosen) / (1 + layer) for layer in chosen]
        total = sum(factor * loss for factor, loss in zip(factors, losses))
        if self.kl_temperature == 0 or not chosen:
            return total
        first, *others = (Categorical(logits=item / self.kl_temperature) for item in embeddings)
        parts = torch.stack([kl_divergence(first, item).mean() for item in others])
        return total + self.kl_div_weight * self.kl_temperature * parts.sum()
