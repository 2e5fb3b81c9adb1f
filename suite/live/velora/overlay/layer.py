"""A LoRA layer whose first projection keeps compressed activations."""

import torch
from peft.tuners.lora.velora import (
    VeloraFunction,
    _get_group_dim,
    _normalize_projection,
    _reshape_to_grouped_subtokens,
)
from torch import Tensor, nn


class LoraLayer(nn.Module):
    """A frozen linear layer plus a trainable update of low rank.

    Args:
        base: The linear layer, which is frozen.
        rank: Width of the update.
        num_groups: Number of sub-tokens per token. None keeps activations uncompressed.
        scale: Factor of the reconstructed activations.
        init_type: `"batch_average"` takes the direction of each training batch, `"batch_average_once"` of the first.
    """

    def __init__(
        self,
        base: nn.Linear,
        rank: int,
        num_groups: int | None = None,
        scale: float = 1.0,
        init_type: str = "batch_average",
    ) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Linear(base.in_features, rank, bias=False)
        self.b = nn.Linear(rank, base.out_features, bias=False)
        nn.init.zeros_(self.b.weight)
        self.num_groups, self.scale, self.init_type = num_groups, scale, init_type
        self.seen = False
        if num_groups is not None:
            self.register_buffer("direction", torch.zeros(_get_group_dim(base.in_features, num_groups)))

    @torch.no_grad()
    def _observe(self, x: Tensor) -> None:
        if self.seen and self.init_type == "batch_average_once":
            return
        mean = _reshape_to_grouped_subtokens(x, self.num_groups).flatten(0, 1).mean(dim=0)
        self.direction.copy_(_normalize_projection(mean))
        self.seen = True

    def forward(self, x: Tensor) -> Tensor:
        """Outputs (..., out features) of inputs (..., in features)."""
        if self.num_groups is None or not self.training:
            return self.base(x) + self.b(self.a(x))
        self._observe(x)
        hidden = VeloraFunction.apply(x, self.a.weight, self.a.bias, self.direction, self.num_groups, self.scale)
        return self.base(x) + self.b(hidden)
