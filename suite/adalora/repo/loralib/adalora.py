"""A linear layer whose increment is kept as singular vectors and singular values (section 3.1)."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from loralib.layers import IncrementConfig, IncrementLayer


class SVDLinear(nn.Linear, IncrementLayer):
    """A frozen linear layer with an increment in the form of a singular value decomposition.

    lora_A: right singular vectors, (r, in_features). lora_E: singular values, (r, 1), zero at first. lora_B: left
    singular vectors, (out_features, r). ranknum: how many triplets the
    layer began with, (1,), not trained.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        config: IncrementConfig,
        bias: bool = True,
        fan_in_fan_out: bool = False,
    ) -> None:
        nn.Linear.__init__(self, in_features, out_features, bias)
        IncrementLayer.__init__(self, config)
        self.fan_in_fan_out = fan_in_fan_out
        if fan_in_fan_out:
            self.weight.data = self.weight.data.T.contiguous()
        self.weight.requires_grad_(False)
        if self.r > 0:
            self.lora_A = nn.Parameter(torch.randn(self.r, in_features) / in_features**0.5)
            self.lora_E = nn.Parameter(torch.zeros(self.r, 1))
            self.lora_B = nn.Parameter(torch.randn(out_features, self.r) / out_features**0.5)
            self.ranknum = nn.Parameter(torch.full((1,), float(self.r)), requires_grad=False)

    def train(self, mode: bool = True) -> "SVDLinear":
        """Switch modes; evaluation folds the increment into the weight, training takes it out again."""
        super().train(mode)
        if self.merge_weights and self.r > 0 and self.merged == mode:
            with torch.no_grad():
                increment = self.update_weight()
                self.weight += -increment if mode else increment
            self.merged = not mode
        return self

    def update_weight(self) -> Tensor:
        """The increment, as it is added to the weight.

        Returns:
            A tensor of the shape of `weight`.
        """
        weight = (self.lora_B @ (self.lora_E * self.lora_A)) * self.scaling / (self.ranknum + 1e-5)
        return weight.T if self.fan_in_fan_out else weight

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layer with its increment.

        Args:
            x: inputs, (..., in_features).

        Returns:
            Outputs, (..., out_features).
        """
        result = F.linear(x, self.weight.T if self.fan_in_fan_out else self.weight, self.bias)
        if self.r == 0 or self.merged:
            return result
        branch = self.lora_dropout(x) @ (self.lora_E * self.lora_A).T @ self.lora_B.T
        return result + branch * self.scaling / (self.ranknum + 1e-5)


def orthogonality(model: nn.Module) -> Tensor:
    """How far the singular vectors of all increments are from orthonormal: the regulariser of equation 4, averaged.

    Returns:
        A scalar tensor.
    """
    terms = []
    for layer in model.modules():
        if isinstance(layer, SVDLinear) and layer.r > 0:
            for gram in (layer.lora_A @ layer.lora_A.T, layer.lora_B.T @ layer.lora_B):
                terms.append((gram - torch.eye(layer.r, dtype=gram.dtype)).square().sum())
    return torch.stack(terms).mean()
