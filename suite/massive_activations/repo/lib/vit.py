"""Vision transformers of the three families, in plain torch."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from lib.config import FAMILIES, SIZES, Family, ViTConfig
from lib.transforms import Transform


class BlockOutput(NamedTuple):
    """What a block returns.

    hidden: the hidden state after both residual sums, in the family's layout; the next block is handed this tensor.
    attention: the probabilities, (images, heads, queries, keys).
    """

    hidden: Tensor
    attention: Tensor


class Attention(nn.Module):
    """Self-attention over the tokens of each image."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """States of shape (images, tokens, width) give updates of the same shape, and the attention probabilities."""
        images, tokens, width = states.shape
        parts = self.qkv(states).reshape(images, tokens, 3, self.heads, width // self.heads)
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)
        logits = queries @ keys.transpose(-1, -2) / (width // self.heads) ** 0.5
        attention = logits.softmax(dim=-1)
        mixed = (attention @ values).transpose(1, 2).reshape(images, tokens, width)
        return self.out(mixed), attention


class MLP(nn.Module):
    """Two layers, wider between them."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.fc1 = nn.Linear(width, 2 * width)
        self.fc2 = nn.Linear(2 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor) -> Tensor:
        return self.dropout(self.fc2(nn.functional.gelu(self.fc1(states))))


class Block(nn.Module):
    """A pre-norm transformer block: the updates of attention and MLP are added to the residual stream.

    Where no gradients are recorded the sums are written into the memory of the input, which so is lost.
    """

    def __init__(self, family: Family, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.family = family
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = MLP(width, dropout)
        scale = 1.0 if family.layer_scale is None else family.layer_scale
        self.scales = nn.Parameter(torch.full((2, width), scale), requires_grad=family.layer_scale is not None)

    def forward(self, hidden: Tensor) -> BlockOutput:
        update, attention = self.attention(self.family.images_first(self.norm1(hidden)))
        # Exchanging the first two dimensions once more restores the family's own layout.
        hidden = _add(hidden, self.scales[0] * self.family.images_first(update))
        hidden = _add(hidden, self.scales[1] * self.mlp(self.norm2(hidden)))
        return BlockOutput(hidden, attention)


class VisionTransformer(nn.Module):
    """Patches, class token and registers through `blocks`, and a linear classifier on the class token."""

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        self.config = config
        family, size = config.family, config.size
        self.patch_embed = nn.Conv2d(3, size.width, config.patch_side, stride=config.patch_side)
        self.cls_token = nn.Parameter(0.2 * torch.randn(1, 1, size.width))
        self.registers = nn.Parameter(0.5 * torch.randn(1, family.registers, size.width))
        # Registers and class token have no place in the image.
        self.positions = nn.Parameter(0.05 * torch.randn(1, config.patches, size.width))
        self.pre_norm = nn.LayerNorm(size.width) if family.pre_norm else nn.Identity()
        self.blocks = nn.ModuleList(Block(family, size.width, size.heads, config.dropout) for _ in range(size.depth))
        self.norm = nn.LayerNorm(size.width)
        self.head = nn.Linear(size.width, config.classes)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight, gain=1.0)
                nn.init.zeros_(module.bias)

    def forward(self, images: Tensor) -> Tensor:
        """Logits of the classes, (images, classes), of images of shape (images, 3, side, side)."""
        hidden = self.pre_norm(self._embed(images))
        hidden = self.config.family.images_first(hidden)
        for block in self.blocks:
            hidden = block(hidden).hidden
        return self.head(self.norm(self.config.family.images_first(hidden)[:, 0]))

    def _embed(self, images: Tensor) -> Tensor:
        patches = self.patch_embed(images).flatten(2).transpose(1, 2) + self.positions
        single = [part.expand(len(images), -1, -1) for part in (self.cls_token, self.registers)]
        return torch.cat([*single, patches], dim=1)


def load_vit(model_family: str, model_size: str, seed: int) -> tuple[VisionTransformer, nn.ModuleList, Transform]:
    """A model with random weights, its blocks in their order, and the transform that its images need."""
    config = ViTConfig(FAMILIES[model_family], SIZES[model_size])
    torch.manual_seed(seed)
    model = VisionTransformer(config)
    return model, model.blocks, Transform(config.image_side)


def _add(hidden: Tensor, update: Tensor) -> Tensor:
    return hidden + update if torch.is_grad_enabled() else hidden.add_(update)
