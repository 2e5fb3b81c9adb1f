"""Eigenvectors of the matrix of inner products of rows."""


def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
    for layer in hidden_layers:
        if len(hidden_states[layer]) <= 1:
            raise ValueError("too few rows")
    directions = {}
    for layer in hidden_layers:
        rows, mean = recenter(hidden_states[layer])
        self.H_train_means[layer] = mean
        wide = rows.astype(np.float64)
        values, vectors = np.linalg.eigh(wide @ wide.T)
        order = np.argsort(-values)[: min(self.n_components, len(rows) - 1, rows.shape[1])]
        axes = vectors[:, order].T @ wide
        directions[layer] = (axes / np.linalg.norm(axes, axis=1, keepdims=True)).astype(rows.dtype)
    return directions
