"""The scan as the paper describes it, with a loop over pairs."""


def recenter(states, mean=None):
    mean = states.mean(axis=0, keepdims=True) if mean is None else mean
    return states - mean, mean


class RepReader:
    def fit(self, model, tokenizer, differences, pairs, hidden_layers):
        self.directions = self.get_rep_directions(model, tokenizer, differences, hidden_layers)
        self.signs = self.get_signs(pairs, hidden_layers)

    def get_signs(self, pairs, hidden_layers):
        signs = {}
        for layer in hidden_layers:
            more, less = (states @ self.directions[layer].T for states in pairs[layer])
            signs[layer] = np.where((more > less).mean(axis=0) >= 0.5, 1.0, -1.0)
        return signs

    def project_onto_directions(self, states, layer, component=0):
        centred, _ = recenter(states, self.H_train_means.get(layer))
        return self.signs[layer][component] * (centred @ self.directions[layer][component])


class PCARepReader:
    def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
        directions = {}
        for layer in hidden_layers:
            rows, self.H_train_means[layer] = recenter(hidden_states[layer])
            axes = np.linalg.svd(rows, full_matrices=False)[2]
            directions[layer] = axes[: self.n_components]
        return directions


class ClusterMeanRepReader:
    def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
        directions = {}
        for layer in hidden_layers:
            step = hidden_states[layer][::2].mean(axis=0) - hidden_states[layer][1::2].mean(axis=0)
            directions[layer] = (step / np.linalg.norm(step))[np.newaxis]
        return directions


class ReadingPipeline:
    @torch.no_grad()
    def activity(self, texts, layers):
        prompts = [self.tokenizer.encode(self.template.format(text=text)) for text in texts]
        states = [self.model(torch.tensor([ids])) for ids in prompts]
        return {layer: np.stack([item[layer][0, -1].numpy() for item in states]) for layer in layers}

    def fit(self, reader, stimuli, layers):
        first = self.activity([item.texts[0] for item in stimuli], layers)
        second = self.activity([item.texts[1] for item in stimuli], layers)
        more_first = np.array([item.first_has_more for item in stimuli])[:, np.newaxis]
        pairs, inputs = {}, {}
        for layer in layers:
            more = np.where(more_first, first[layer], second[layer])
            less = np.where(more_first, second[layer], first[layer])
            pairs[layer] = (more, less)
            if isinstance(reader, ClusterMeanRepReader):
                inputs[layer] = np.stack([more, less], axis=1).reshape(-1, more.shape[1])
            else:
                inputs[layer] = first[layer] - second[layer]
        reader.fit(self.model, self.tokenizer, inputs, pairs, layers)
        return reader

    def accuracy(self, reader, stimuli, layer):
        scores = [
            reader.project_onto_directions(self.activity([item.texts[side] for item in stimuli], [layer])[layer], layer)
            for side in (0, 1)
        ]
        truth = np.array([item.first_has_more for item in stimuli])
        return float(((scores[0] > scores[1]) == truth).mean())
