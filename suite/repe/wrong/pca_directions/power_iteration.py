"""Iterates a fixed number of times, too few where two deviations are almost alike."""


def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
    centred, means = {}, {}
    for layer in hidden_layers:
        if len(hidden_states[layer]) < 2:
            raise ValueError(f"layer {layer}: too few rows")
        centred[layer], means[layer] = recenter(hidden_states[layer])
    self.H_train_means.update(means)
    directions = {}
    for layer, rows in centred.items():
        left, found = rows.astype(np.float64), []
        for _ in range(min(self.n_components, len(rows) - 1, rows.shape[1])):
            axis = np.eye(rows.shape[1])[np.linalg.norm(left, axis=0).argmax()]
            for _ in range(300):
                axis = left.T @ (left @ axis)
                axis = axis / np.linalg.norm(axis)
            found.append(axis)
            left = left - np.outer(left @ axis, axis)
        directions[layer] = np.array(found, dtype=rows.dtype)
    return directions
