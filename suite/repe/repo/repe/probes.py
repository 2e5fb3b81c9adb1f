"""Linear probes: supervised directions that are trained."""

from collections.abc import Mapping, Sequence

import torch
from torch.nn import functional as F

from repe.rep_readers import Array, ClusterMeanRepReader


class LinearProbeRepReader(ClusterMeanRepReader):
    """The weights of a linear probe, which tells both halves of the rows apart."""

    def __init__(self, n_components: int = 1, steps: int = 20, learning_rate: float = 0.1) -> None:
        super().__init__(n_components)
        self.steps = steps
        self.learning_rate = learning_rate

    def get_rep_directions(
        self, model: object, tokenizer: object, hidden_states: Mapping[int, Array], hidden_layers: Sequence[int]
    ) -> dict[int, Array]:
        """A direction towards the even rows, which hold more of the concept."""
        directions = {}
        for layer in hidden_layers:
            rows = torch.from_numpy(hidden_states[layer])
            labels = (torch.arange(len(rows)) % 2 == 0).to(rows)
            weights, bias = rows.new_zeros(rows.shape[1], requires_grad=True), rows.new_zeros((), requires_grad=True)
            optimizer = torch.optim.SGD([weights, bias], lr=self.learning_rate)
            for _ in range(self.steps):
                logits = rows @ weights + bias
                loss = F.binary_cross_entropy_with_logits(logits, labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            vector = weights.detach()
            vector = vector / vector.norm()
            directions[layer] = vector.numpy()[None]
        return directions
