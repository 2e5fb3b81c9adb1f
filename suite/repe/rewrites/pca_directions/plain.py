"""Right singular vectors of the centred vectors."""


def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
    directions = {}
    for layer in hidden_layers:
        centred, self.H_train_means[layer] = recenter(hidden_states[layer])
        directions[layer] = np.linalg.svd(centred, full_matrices=False)[2][: self.n_components]
    return directions
