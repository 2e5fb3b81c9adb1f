"""One direction after another, each of the largest singular value of what is left."""


def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
    directions, means = {}, {}
    for layer in hidden_layers:
        if len(hidden_states[layer]) < 2:
            raise ValueError("too few rows")
        rows, means[layer] = recenter(hidden_states[layer])
        left, found = rows.astype(np.float64), []
        for _ in range(min(self.n_components, len(rows) - 1, rows.shape[1])):
            axis = np.linalg.svd(left, full_matrices=False)[2][0]
            left = left - np.outer(left @ axis, axis)
            found.append(axis)
        directions[layer] = np.array(found, dtype=rows.dtype)
    self.H_train_means |= means
    return directions
