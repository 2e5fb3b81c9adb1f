"""Eigenvectors of the matrix of inner products of rows, completed to a basis where the rows span too little."""


def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
    directions = {}
    for layer in hidden_layers:
        rows, mean = recenter(hidden_states[layer])
        self.H_train_means[layer] = mean
        wide = rows.astype(np.float64)
        count = min(self.n_components, len(rows) - 1, rows.shape[1])
        values, vectors = np.linalg.eigh(wide @ wide.T)
        axes = vectors[:, np.argsort(-values)[:count]].T @ wide
        lengths = np.linalg.norm(axes, axis=1, keepdims=True)
        spanned = lengths[:, 0] > 1e-6 * lengths.max()
        basis = np.concatenate([axes[spanned] / lengths[spanned], np.eye(rows.shape[1])])
        directions[layer] = np.linalg.qr(basis.T)[0].T[:count].astype(rows.dtype)
    return directions
