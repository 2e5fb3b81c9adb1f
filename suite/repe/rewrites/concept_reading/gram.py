"""Eigenvectors of the inner products of rows; both sides of all pairs as one list of texts."""


def recenter(states, mean=None):
    mean = np.mean(states, 0)[np.newaxis] if mean is None else mean
    return np.subtract(states, mean), mean


class RepReader:
    def fit(self, model, tokenizer, differences, pairs, hidden_layers):
        self.directions = self.get_rep_directions(model, tokenizer, differences, hidden_layers)
        self.signs = dict(self.get_signs(pairs, hidden_layers))

    def get_signs(self, pairs, hidden_layers):
        def of_layer(layer):
            gaps = (pairs[layer][0] - pairs[layer][1]) @ self.directions[layer].T
            return 1.0 - 2.0 * (np.count_nonzero(gaps > 0, axis=0) < len(gaps) / 2)

        return {layer: of_layer(layer) for layer in hidden_layers}

    def project_onto_directions(self, states, layer, component=0):
        rows = recenter(states, self.H_train_means.get(layer))[0]
        return np.einsum("rw,w->r", rows, self.directions[layer][component]) * self.signs[layer][component]


class PCARepReader:
    def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
        directions = {}
        for layer in hidden_layers:
            rows, mean = recenter(hidden_states[layer])
            self.H_train_means[layer] = mean
            wide = rows.astype(np.float64)
            count = min(self.n_components, len(rows) - 1, rows.shape[1])
            values, vectors = np.linalg.eigh(wide @ wide.T)
            axes = vectors[:, np.argsort(-values)[:count]].T @ wide
            directions[layer] = (axes / np.linalg.norm(axes, axis=1, keepdims=True)).astype(rows.dtype)
        return directions


class ClusterMeanRepReader:
    def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
        def of_layer(rows):
            even = np.arange(len(rows)) % 2 == 0
            step = (even / even.sum() - ~even / (~even).sum()) @ rows
            return step[np.newaxis] / np.sqrt(np.square(step).sum())

        return {layer: of_layer(hidden_states[layer]) for layer in hidden_layers}


class ReadingPipeline:
    def activity(self, texts, layers):
        rows = []
        for text in texts:
            ids = torch.tensor(self.tokenizer.encode(self.template.format(text=text)))
            states = self.model(ids.unsqueeze(0))
            rows.append(torch.cat([states[layer][:, -1] for layer in layers]).detach().numpy())
        return {layer: np.stack([row[place] for row in rows]) for place, layer in enumerate(layers)}

    def fit(self, reader, stimuli, layers):
        states = self.activity([text for item in stimuli for text in item.texts], layers)
        places = np.array([[2 * row, 2 * row + 1] for row in range(len(stimuli))])
        ordered = np.array(
            [row if item.first_has_more else row[::-1] for row, item in zip(places, stimuli, strict=True)]
        )
        if isinstance(reader, ClusterMeanRepReader):
            inputs = {layer: states[layer][ordered.ravel()] for layer in layers}
        else:
            inputs = {layer: -np.diff(states[layer][places], axis=1)[:, 0] for layer in layers}
        pairs = {layer: (states[layer][ordered[:, 0]], states[layer][ordered[:, 1]]) for layer in layers}
        reader.fit(self.model, self.tokenizer, inputs, pairs, layers)
        return reader

    def accuracy(self, reader, stimuli, layer):
        scores = []
        for side in (0, 1):
            states = self.activity([item.texts[side] for item in stimuli], (layer,))[layer]
            scores.append(reader.project_onto_directions(states, layer))
        found = [bool(first > second) for first, second in zip(*scores, strict=True)]
        return float(np.mean([one == item.first_has_more for one, item in zip(found, stimuli, strict=True)]))
