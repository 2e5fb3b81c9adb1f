"""Takes small vectors for ones that do not vary."""


def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
    centred, means = {}, {}
    for layer in hidden_layers:
        if len(hidden_states[layer]) < 2:
            raise ValueError(f"layer {layer}: too few rows")
        centred[layer], means[layer] = recenter(hidden_states[layer])
    self.H_train_means.update(means)
    directions = {}
    for layer, rows in centred.items():
        axes = np.eye(rows.shape[1], dtype=rows.dtype) if np.allclose(rows, 0) else np.linalg.svd(rows)[2]
        directions[layer] = axes[: min(self.n_components, len(rows) - 1)]
    return directions
