"""One direction after another, each of the largest singular value in the space that the earlier ones leave."""


def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
    directions, means = {}, {}
    for layer in hidden_layers:
        rows, means[layer] = recenter(hidden_states[layer])
        left, found = np.eye(rows.shape[1]), []
        for _ in range(min(self.n_components, len(rows) - 1, rows.shape[1])):
            turned = np.linalg.svd(rows.astype(np.float64) @ left)[2]
            found.append(left @ turned[0])
            left = left @ turned[1:].T
        directions[layer] = np.array(found, dtype=rows.dtype)
    self.H_train_means |= means
    return directions
