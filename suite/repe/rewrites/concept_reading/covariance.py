"""Eigenvectors of the covariance matrix; everything else row by row and pair by pair."""


def recenter(states, mean=None):
    if mean is None:
        mean = np.sum(states, axis=0, keepdims=True) / len(states)
    return np.array([row - mean[0] for row in states]).reshape(states.shape).astype(states.dtype), mean


class RepReader:
    def fit(self, model, tokenizer, differences, pairs, hidden_layers):
        found = self.get_rep_directions(model, tokenizer, differences, hidden_layers)
        self.directions = dict(found)
        self.signs = self.get_signs(pairs, hidden_layers)

    def get_signs(self, pairs, hidden_layers):
        signs = {}
        for layer in hidden_layers:
            found = []
            for direction in self.directions[layer]:
                larger = sum(bool((one - other) @ direction > 0) for one, other in zip(*pairs[layer], strict=True))
                found.append(1.0 if 2 * larger >= len(pairs[layer][0]) else -1.0)
            signs[layer] = np.array(found)
        return signs

    def project_onto_directions(self, states, layer, component=0):
        mean = self.H_train_means[layer] if layer in self.H_train_means else states.mean(axis=0, keepdims=True)
        direction = self.signs[layer][component] * self.directions[layer][component]
        return states @ direction - mean[0] @ direction


class PCARepReader:
    def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
        directions = {}
        for layer in hidden_layers:
            rows, self.H_train_means[layer] = recenter(hidden_states[layer])
            _, vectors = np.linalg.eigh(np.atleast_2d(np.cov(rows.T.astype(np.float64))))
            directions[layer] = vectors[:, ::-1][:, : self.n_components].T.astype(hidden_states[layer].dtype)
        return directions


class ClusterMeanRepReader:
    def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
        directions = {}
        for layer in hidden_layers:
            halves = [hidden_states[layer][start::2] for start in (0, 1)]
            step = sum(halves[0]) / len(halves[0]) - sum(halves[1]) / len(halves[1])
            directions[layer] = (step / (step @ step) ** 0.5).reshape(1, -1)
        return directions


class ReadingPipeline:
    @torch.no_grad()
    def activity(self, texts, layers):
        found = {layer: [] for layer in layers}
        for text in texts:
            states = self.model(torch.tensor([self.tokenizer.encode(self.template.format(text=text))]))
            for layer in layers:
                found[layer].append(states[layer][0][-1].tolist())
        return {layer: np.array(rows) for layer, rows in found.items()}

    def fit(self, reader, stimuli, layers):
        supervised, inputs, pairs = isinstance(reader, ClusterMeanRepReader), {}, {}
        sides = [self.activity([item.texts[side] for item in stimuli], layers) for side in (0, 1)]
        for layer in layers:
            more, less, given = [], [], []
            for item, first, second in zip(stimuli, sides[0][layer], sides[1][layer], strict=True):
                ordered = (first, second) if item.first_has_more else (second, first)
                more.append(ordered[0])
                less.append(ordered[1])
                given += list(ordered) if supervised else [first - second]
            inputs[layer], pairs[layer] = np.array(given), (np.array(more), np.array(less))
        reader.fit(self.model, self.tokenizer, inputs, pairs, layers)
        return reader

    def accuracy(self, reader, stimuli, layer):
        sides = [self.activity([item.texts[side] for item in stimuli], [layer])[layer] for side in (0, 1)]
        scores = [reader.project_onto_directions(states, layer) for states in sides]
        right = 0
        for item, first, second in zip(stimuli, *scores, strict=True):
            right += bool(first > second) == item.first_has_more
        return right / len(stimuli)
