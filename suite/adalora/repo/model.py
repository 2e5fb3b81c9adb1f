"""A small network in which the target of fine-tuning differs from what was pre-trained in some layers only."""

import torch
from torch import Tensor, nn

from loralib.adalora import SVDLinear
from loralib.layers import IncrementConfig


class ResidualNetwork(nn.Module):
    """Residual blocks of one linear layer and a tanh each; layers with an odd number store their weight transposed."""

    def __init__(self, width: int, depth: int, config: IncrementConfig) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            SVDLinear(width, width, config, fan_in_fan_out=bool(number % 2)) for number in range(depth)
        )

    def forward(self, x: Tensor) -> Tensor:
        """(batch, width) to (batch, width)."""
        for block in self.blocks:
            x = x + torch.tanh(block(x))
        return x


def increments(model: nn.Module) -> list[nn.Parameter]:
    """The parameters that fine-tuning may change."""
    return [parameter for name, parameter in model.named_parameters() if ".lora_" in name]
