"""Takes eigenvectors of the covariance in the precision of the states, which squares how far deviations lie apart."""


def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
    centred, means = {}, {}
    for layer in hidden_layers:
        if len(hidden_states[layer]) < 2:
            raise ValueError(f"layer {layer}: too few rows")
        centred[layer], means[layer] = recenter(hidden_states[layer])
    self.H_train_means.update(means)
    directions = {}
    for layer, rows in centred.items():
        axes = np.linalg.eigh(rows.T @ rows)[1].T[::-1]
        directions[layer] = axes[: min(self.n_components, len(rows) - 1)]
    return directions
