"""Singular vectors of the triangular factor; texts of one length go through the model together."""


def recenter(states, mean=None):
    if mean is None:
        mean = np.full((1, len(states)), 1 / len(states), states.dtype) @ states
    return states + -1 * mean, mean


def _projected(states, mean, direction):
    return (states - mean).dot(direction)


class RepReader:
    def fit(self, model, tokenizer, differences, pairs, hidden_layers):
        self.directions = self.get_rep_directions(model, tokenizer, differences, hidden_layers)
        self.signs = self.get_signs(pairs, hidden_layers)

    def get_signs(self, pairs, hidden_layers):
        signs = {}
        for layer in hidden_layers:
            gaps = np.subtract(*pairs[layer]).dot(self.directions[layer].T)
            signs[layer] = np.where(np.median(1.0 * (gaps > 0), axis=0) >= 0.5, 1.0, -1.0)
        return signs

    def project_onto_directions(self, states, layer, component=0):
        mean = self.H_train_means.get(layer)
        if mean is None:
            mean = states.mean(axis=0, keepdims=True)
        return _projected(states, mean, self.signs[layer][component] * self.directions[layer][component])


class PCARepReader:
    def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
        directions = {}
        for layer in sorted(hidden_layers):
            rows, self.H_train_means[layer] = recenter(hidden_states[layer])
            axes = np.linalg.svd(np.linalg.qr(rows, mode="r"), full_matrices=False)[2]
            directions[layer] = -axes[: self.n_components]
        return directions


class ClusterMeanRepReader:
    def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
        directions = {}
        for layer in hidden_layers:
            rows = hidden_states[layer]
            even, odd = rows[0::2], rows[1::2]
            step = len(odd) * even.sum(axis=0) - len(even) * odd.sum(axis=0)
            directions[layer] = np.array([step]) / np.linalg.norm(step)
        return directions


class ReadingPipeline:
    def activity(self, texts, layers):
        prompts = [self.tokenizer.encode(self.template.format(text=text)) for text in texts]
        rows = {layer: [None] * len(prompts) for layer in layers}
        with torch.no_grad():
            for length in {len(ids) for ids in prompts}:
                places = [place for place, ids in enumerate(prompts) if len(ids) == length]
                states = self.model(torch.tensor([prompts[place] for place in places]))
                for layer in layers:
                    for place, row in zip(places, states[layer][:, -1].numpy(), strict=True):
                        rows[layer][place] = row
        return {layer: np.stack(found) for layer, found in rows.items()}

    def fit(self, reader, stimuli, layers):
        first, second = (self.activity([item.texts[side] for item in stimuli], layers) for side in (0, 1))
        turn = np.array([[1.0 if item.first_has_more else -1.0] for item in stimuli])
        pairs = {}
        for layer in layers:
            middle, half = (first[layer] + second[layer]) / 2, turn * (first[layer] - second[layer]) / 2
            pairs[layer] = middle + half, middle - half
        if isinstance(reader, ClusterMeanRepReader):
            inputs = {layer: np.hstack(pairs[layer]).reshape(-1, first[layer].shape[1]) for layer in layers}
        else:
            inputs = {layer: first[layer] - second[layer] for layer in layers}
        reader.fit(self.model, self.tokenizer, inputs, pairs, layers)
        return reader

    def accuracy(self, reader, stimuli, layer):
        truth = np.array([1.0 if item.first_has_more else -1.0 for item in stimuli])
        scores = []
        for side in (0, 1):
            states = self.activity([item.texts[side] for item in stimuli], [layer])
            scores.append(reader.project_onto_directions(states[layer], layer))
        return np.count_nonzero(truth * (scores[0] - scores[1]) > 0) / len(stimuli)
