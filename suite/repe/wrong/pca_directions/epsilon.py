"""Adds a small number to lengths before it divides by them."""


def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
    centred, means = {}, {}
    for layer in hidden_layers:
        if len(hidden_states[layer]) < 2:
            raise ValueError(f"layer {layer}: too few rows")
        centred[layer], means[layer] = recenter(hidden_states[layer])
    self.H_train_means.update(means)
    directions = {}
    for layer, rows in centred.items():
        _, values, axes = np.linalg.svd(rows, full_matrices=False)
        axes = values[:, np.newaxis] * axes / (values[:, np.newaxis] + 1e-8)
        directions[layer] = axes[: min(self.n_components, len(rows) - 1)]
    return directions
