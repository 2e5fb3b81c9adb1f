"""Singular vectors of the triangular factor, in the precision of the hidden states."""


def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
    small = [layer for layer in hidden_layers if hidden_states[layer].shape[0] < 2]
    if small:
        raise ValueError(f"too few rows: {small}")
    directions = {}
    for layer in sorted(hidden_layers):
        rows, self.H_train_means[layer] = recenter(hidden_states[layer])
        axes = np.linalg.svd(np.linalg.qr(rows, mode="r"), full_matrices=False)[2]
        directions[layer] = -axes[: min(self.n_components, len(rows) - 1)]
    return directions
