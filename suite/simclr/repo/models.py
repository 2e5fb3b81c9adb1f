"""The encoder f, whose output is kept, and the projection head g, which is thrown away after training."""

import torch
from torch import Tensor, nn


class ContrastiveModel(nn.Module):
    """f: pixels to representations h of `width`; g: one hidden layer, to projections z of `projection`."""

    def __init__(self, pixels: int, width: int = 24, projection: int = 12, seed: int = 0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(pixels, width), nn.Tanh())
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, projection, bias=False))
        self.double()
        for parameter in self.parameters():
            scale = parameter.shape[-1] ** -0.5 if parameter.dim() > 1 else 0.1
            parameter.data = scale * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)

    def forward(self, pixels: Tensor) -> Tensor:
        """Projections of images, (batch, projection)."""
        return self.head(self.encoder(pixels))
