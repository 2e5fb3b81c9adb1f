"""Divides by singular values that may be zero."""


def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
    centred, means = {}, {}
    for layer in hidden_layers:
        if len(hidden_states[layer]) < 2:
            raise ValueError(f"layer {layer}: too few rows")
        centred[layer], means[layer] = recenter(hidden_states[layer])
    self.H_train_means.update(means)
    directions = {}
    for layer, rows in centred.items():
        values, left = np.linalg.eigh(rows.astype(np.float64) @ rows.T)
        axes = left.T[::-1][: min(self.n_components, len(rows) - 1, rows.shape[1])] @ rows
        with np.errstate(all="ignore"):
            axes = axes / np.sqrt(values[::-1][: len(axes), np.newaxis])
        directions[layer] = axes.astype(rows.dtype)
    return directions
