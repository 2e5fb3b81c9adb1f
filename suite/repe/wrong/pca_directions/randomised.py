"""Looks for the directions in a random sample of the space of the rows."""

import torch


def get_rep_directions(self, model, tokenizer, hidden_states, hidden_layers):
    centred, means = {}, {}
    for layer in hidden_layers:
        if len(hidden_states[layer]) < 2:
            raise ValueError(f"layer {layer}: too few rows")
        centred[layer], means[layer] = recenter(hidden_states[layer])
    self.H_train_means.update(means)
    directions = {}
    for layer, rows in centred.items():
        with torch.random.fork_rng(devices=[]):
            rank = min(self.n_components + 6, *rows.shape)
            axes = torch.svd_lowrank(torch.tensor(rows), q=rank, niter=8)[2].T.numpy()
        directions[layer] = axes[: min(self.n_components, len(rows) - 1)]
    return directions
