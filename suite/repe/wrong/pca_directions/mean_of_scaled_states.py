"""Scales very small and very large vectors, and keeps the mean of what it scaled."""


def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
    centred, means = {}, {}
    for layer in hidden_layers:
        if len(hidden_states[layer]) < 2:
            raise ValueError(f"layer {layer}: too few rows")
        largest = np.abs(hidden_states[layer]).max()
        unit = largest if largest > 1e15 or 0 < largest < 1e-15 else np.ones(())
        centred[layer], means[layer] = recenter(hidden_states[layer] / unit.astype(hidden_states[layer].dtype))
    self.H_train_means.update(means)
    directions = {}
    for layer, rows in centred.items():
        axes = np.linalg.svd(rows, full_matrices=False)[2]
        directions[layer] = axes[: min(self.n_components, len(rows) - 1)]
    return directions
