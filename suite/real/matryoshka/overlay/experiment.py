"""How well are pairs found by the first dimensions alone, after training with one loss and with nested ones?"""

import json

import torch
from encoder import InBatch, encoder
from sentence_transformers.losses.MatryoshkaLoss import MatryoshkaLoss
from torch.nn import functional as F

_WORDS, _TOPICS, _LENGTH, _WIDTH, _BATCH, _STEPS, _RATE = 32, 16, 8, 16, 16, 18, 0.06
_DIMS = (2, 4, 8, 16)


def _pairs(generator: torch.Generator, count: int) -> list[dict[str, torch.Tensor]]:
    """Two texts each about the same topic: most words are one of the topic's two, the others are any."""
    topics = torch.randperm(_TOPICS, generator=generator)[:count]
    columns = []
    for _ in range(2):
        own = 2 * topics[:, None] + torch.randint(2, (count, _LENGTH), generator=generator)
        other = torch.randint(_WORDS, (count, _LENGTH), generator=generator)
        drawn = torch.rand(count, _LENGTH, generator=generator) < 0.7
        columns.append({"input_ids": torch.where(drawn, own, other)})
    return columns


def _found(seed: int, dims: list[int], weights: list[float] | None) -> dict[int, float]:
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = encoder(_WORDS, _WIDTH, _WIDTH).double()
    loss_of = MatryoshkaLoss(model, InBatch(model), dims, weights)
    parameters = list(model.parameters())
    slopes, squares = ([torch.zeros_like(parameter) for parameter in parameters] for _ in range(2))
    for _ in range(_STEPS):
        gradients = torch.autograd.grad(loss_of(_pairs(generator, _BATCH), None), parameters)
        # An update like Adam's, by hand: importing torch's optimizers takes longer than all of this.
        with torch.no_grad():
            for parameter, slope, square, gradient in zip(parameters, slopes, squares, gradients, strict=True):
                slope.lerp_(gradient, 0.2)
                square.lerp_(gradient.square(), 0.1)
                parameter.sub_(_RATE * slope / (square.sqrt() + 1e-6))
    found = dict.fromkeys(_DIMS, 0.0)
    with torch.no_grad():
        for _ in range(2):
            whole = [model(column)["sentence_embedding"] for column in _pairs(generator, _TOPICS)]
            for dim in _DIMS:
                a, b = (F.normalize(item[:, :dim], dim=1) for item in whole)
                # A soft count: the share of the right row, which is less coarse than hits.
                found[dim] += (50 * a @ b.T).softmax(dim=1).diagonal().mean().item() / 2
    return found


def run(seed: int = 0) -> dict[str, float]:
    """The mean probability of a pair's other text among all, by the training and the number of dimensions."""
    trainings = {
        "plain": ([_WIDTH], None),
        "nested": ([2, 4, 8, 16], None),
        "nested, small ones count more": ([16, 2, 8, 4], [0.5, 3, 1, 2]),
    }
    return {
        f"{name}/{dim} dimensions": value
        for name, (dims, weights) in trainings.items()
        for dim, value in _found(seed, dims, weights).items()
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
