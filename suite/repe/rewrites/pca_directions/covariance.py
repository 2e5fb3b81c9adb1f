"""Eigenvectors of the covariance matrix."""


def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
    if any(hidden_states[layer].shape[0] < 2 for layer in hidden_layers):
        raise ValueError("too few rows")
    directions = {}
    for layer in hidden_layers:
        rows, self.H_train_means[layer] = recenter(hidden_states[layer])
        count = min(self.n_components, rows.shape[0] - 1, rows.shape[1])
        _, vectors = np.linalg.eigh(np.atleast_2d(np.cov(rows.T.astype(np.float64))))
        directions[layer] = vectors[:, ::-1][:, :count].T.astype(hidden_states[layer].dtype)
    return directions
