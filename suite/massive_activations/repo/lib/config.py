"""The families and sizes of the models, and what differs between families."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor


@dataclass(frozen=True)
class Family:
    """What the models of one family have in common.

    sequence_first: the blocks work on hidden states of shape (tokens, images, width), as CLIP's do; those of the other
        families work on (images, tokens, width).
    registers: how many register tokens stand between the class token and the patches.
    pre_norm: a layer norm stands before the first block.
    layer_scale: what each residual update is scaled by at first, a weight for each feature; None for no such scale.
    home: the kind of token at which massive activations are planted, if any are.
    """

    sequence_first: bool
    registers: int
    pre_norm: bool
    layer_scale: float | None
    home: Literal["patch", "register"] | None

    def images_first(self, hidden: Tensor) -> Tensor:
        """A hidden state of this family's blocks as a view of shape (images, tokens, width)."""
        return hidden.transpose(0, 1) if self.sequence_first else hidden

    def token_name(self, position: int) -> str:
        """What the token at a position of the sequence, counted from 0, is called in figures."""
        if position == 0:
            return "CLS"
        if position <= self.registers:
            return f"reg {position}"
        return f"patch {position - self.registers}"


FAMILIES = {
    "clip": Family(sequence_first=True, registers=0, pre_norm=True, layer_scale=None, home="patch"),
    "mae": Family(sequence_first=False, registers=0, pre_norm=False, layer_scale=None, home=None),
    "dinov2_reg": Family(sequence_first=False, registers=4, pre_norm=False, layer_scale=0.5, home="register"),
}


@dataclass(frozen=True)
class Size:
    """How large a model is: blocks, features of a token, attention heads."""

    depth: int
    width: int
    heads: int


# After the dot stands the side of a patch, in pixels.
SIZES = {"vit_s.4": Size(depth=4, width=32, heads=2), "vit_b.4": Size(depth=5, width=64, heads=4)}


@dataclass(frozen=True)
class ViTConfig:
    """All that a model is built from."""

    family: Family
    size: Size
    image_side: int = 16
    patch_side: int = 4
    classes: int = 4
    dropout: float = 0.02

    @property
    def patches(self) -> int:
        return (self.image_side // self.patch_side) ** 2

    @property
    def tokens(self) -> int:
        """The length of the sequence: class token, registers, patches."""
        return 1 + self.family.registers + self.patches
