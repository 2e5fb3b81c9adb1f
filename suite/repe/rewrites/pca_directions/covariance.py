"""Eigenvectors of the covariance matrix."""


def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
    directions = {}
    for layer in hidden_layers:
        rows, self.H_train_means[layer] = recenter(hidden_states[layer])
        _, vectors = np.linalg.eigh(np.atleast_2d(np.cov(rows.T.astype(np.float64))))
        directions[layer] = vectors[:, ::-1][:, : self.n_components].T.astype(hidden_states[layer].dtype)
    return directions
