"""Singular vectors of the triangular factor, in the precision of the hidden states."""


def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
    directions = {}
    for layer in sorted(hidden_layers):
        rows, self.H_train_means[layer] = recenter(hidden_states[layer])
        axes = np.linalg.svd(np.linalg.qr(rows, mode="r"), full_matrices=False)[2]
        directions[layer] = -axes[: self.n_components]
    return directions
