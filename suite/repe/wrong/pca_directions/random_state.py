"""Seeds the global generator to fix the signs of random projections."""


def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
    centred, means = {}, {}
    for layer in hidden_layers:
        if len(hidden_states[layer]) < 2:
            raise ValueError(f"layer {layer}: too few rows")
        centred[layer], means[layer] = recenter(hidden_states[layer])
    self.H_train_means.update(means)
    directions = {}
    for layer, rows in centred.items():
        np.random.seed(0)
        axes = np.linalg.svd(rows, full_matrices=False)[2]
        axes = axes * np.sign(axes @ np.random.normal(size=rows.shape[1]))[:, np.newaxis].astype(rows.dtype)
        directions[layer] = axes[: min(self.n_components, len(rows) - 1)]
    return directions
