"""Stops at the rank of the rows."""


def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
    centred, means = {}, {}
    for layer in hidden_layers:
        if len(hidden_states[layer]) < 2:
            raise ValueError(f"layer {layer}: too few rows")
        centred[layer], means[layer] = recenter(hidden_states[layer])
    self.H_train_means.update(means)
    directions = {}
    for layer, rows in centred.items():
        axes = np.linalg.svd(rows, full_matrices=False)[2]
        rank = max(1, np.linalg.matrix_rank(rows))
        directions[layer] = axes[: min(self.n_components, rank)]
    return directions
