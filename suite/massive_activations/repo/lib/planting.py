"""How massive activations come into models that are too small to develop any.

Three steps, all of them before the classifier is fitted.

1. Marking. One feature of the embedding tells the token that will hold the massive activations: the brightness of its
   patch, of which the blank patch of an image has most, or, in a family with registers, a value of one register alone.
2. Writing. One hidden unit of one block's MLP answers to that feature and to nothing else, and writes a large value
   into two features of the residual stream.
3. Reading. In later blocks keys and the biases of queries are set so that attention is drawn to a token in which
   these two features dominate.

All other weights are random. What the classifier, which is fitted to the model, makes of massive activations, and what
becomes of its accuracy without them, is not planted.
"""

import torch

from lib.vit import Attention, VisionTransformer

MARK = 5
WRITTEN = {11: 110.0, 20: -64.0}
BRIGHTNESS = 4.0
WRITING_BLOCK = 1
UNIT = 0
KEY = 1.5
QUERY_BIAS = 1.4
HOME_REGISTER = 2
STEEPNESS = 8.0
THRESHOLD = 3.0


@torch.no_grad()
def plant_massive_activations(model: VisionTransformer) -> None:
    """Set the weights of the three steps, where the model's family has a home for massive activations."""
    home = model.config.family.home
    if home is None:
        return
    _mark(model, home)
    _write(model)
    for block in model.blocks[WRITING_BLOCK + 1 :]:
        _read(block.attention)


def _mark(model: VisionTransformer, home: str) -> None:
    """Keep the marking feature free of everything but the mark, up to the block that reads it."""
    embedding = model.patch_embed
    for part in (model.positions, model.cls_token, model.registers):
        _set(part, (..., MARK), 0.0)
    if home == "patch":
        _set(embedding.weight, MARK, BRIGHTNESS / embedding.weight[MARK].numel())
        # Dark patches, as most are, come near to 0.
        _set(embedding.bias, MARK, 0.8 * BRIGHTNESS)
    else:
        _set(embedding.weight, MARK, 0.0)
        _set(embedding.bias, MARK, 0.0)
        _set(model.registers, (0, HOME_REGISTER, MARK), 10.0)
    if model.config.family.pre_norm:
        _set(model.pre_norm.weight, MARK, 2.0)
        _set(model.pre_norm.bias, MARK, 0.0)
    for block in model.blocks[: WRITING_BLOCK + 1]:
        for layer, rows in ((block.attention.out, slice(None)), (block.mlp.fc2, MARK)):
            _set(layer.weight, rows, 0.0)
            _set(layer.bias, rows, 0.0)


def _write(model: VisionTransformer) -> None:
    """Let one hidden unit of one block answer to the mark."""
    block = model.blocks[WRITING_BLOCK]
    rows = block.mlp.fc1.weight
    _set(rows, UNIT, STEEPNESS * torch.eye(rows.shape[1])[MARK])
    _set(block.mlp.fc1.bias, UNIT, -STEEPNESS * THRESHOLD)
    column = torch.zeros(rows.shape[1])
    for feature, value in WRITTEN.items():
        column[feature] = value / block.scales[1, feature]
    _set(block.mlp.fc2.weight, (slice(None), UNIT), column)


def _read(attention: Attention) -> None:
    """Draw every head's attention to the token that holds the massive activations.

    What it says to those that attend to it, its value, is left random.
    """
    queries, keys, _ = torch.arange(len(attention.qkv.bias)).chunk(3)
    first = slice(None, None, len(keys) // attention.heads)
    strongest = max(map(abs, WRITTEN.values()))
    weight, bias = attention.qkv.weight, attention.qkv.bias
    _set(weight, queries[first], 0.0)
    _set(bias, queries[first], QUERY_BIAS)
    for feature, value in WRITTEN.items():
        of_feature = torch.zeros(len(keys))
        of_feature[first] = KEY * value / strongest
        _set(weight, (keys, feature), of_feature)


def _set(parameter: torch.nn.Parameter, place: object, value: float | torch.Tensor) -> None:
    """Set some of a parameter's values."""
    parameter[place] = value
