"""No helper classes: closures over lists; divergences as sums of products, in the end."""


class TransformerDecorator:
    def get_layer_embeddings(self):
        return torch.cat([states[self.layer_idx] for states in self.embeddings], dim=1)

    def __call__(self, features):
        return self.call_grow_cache(features)

    def call_grow_cache(self, features):
        return self.original_forward(features)

    def call_use_cache(self, features):
        return self.original_forward(features)


class ForwardDecorator:
    def __call__(self, features):
        return self.fn(features)

    def get_embeddings(self):
        return torch.cat(self.embeddings)


class AdaptiveLayerLoss:
    def forward(self, sentence_features, labels):
        first, model = self.model[0], self.model
        config = first.auto_model.config
        before = {module: module.forward for module in (first, model)}
        outputs, embedded = [], []

        def noting(features):
            output = before[model](features)
            embedded.append(output["sentence_embedding"])
            return output

        def whole(features):
            asked, config.output_hidden_states = config.output_hidden_states, True
            try:
                output = before[first](features)
            finally:
                config.output_hidden_states = asked
            outputs.append(output)
            return output.copy()

        def later(place):
            given = iter(outputs)

            def forward(features):
                output = dict(next(given))
                output["token_embeddings"] = output.pop("all_layer_embeddings")[1 + place]
                return output

            return forward

        terms = []
        first.forward, model.forward = whole, noting
        try:
            terms.append(self.last_layer_weight * self.loss(sentence_features, labels))
            count = len(outputs[0]["all_layer_embeddings"]) - 2
            places = range(count)
            if 0 < self.n_layers_per_step < count:
                places = random.sample(places, self.n_layers_per_step)
            target = torch.cat(embedded)
            for place in places:
                embedded.clear()
                first.forward = later(place)
                weight = self.prior_layers_weight / (place + 1) / len(places)
                terms.append(weight * self.loss(sentence_features, labels))
                if self.kl_temperature > 0:
                    logs = [(item / self.kl_temperature).log_softmax(dim=1) for item in (target, torch.cat(embedded))]
                    divergences = (logs[0].exp() * (logs[0] - logs[1])).sum(dim=1)
                    terms.append(divergences.mean() * (self.kl_temperature * self.kl_div_weight))
        finally:
            for module, forward in before.items():
                module.forward = forward
        return torch.stack(terms).sum()
