"""Batches are full of texts about the same topic. Does a guide that knows topics help, beside one that knows none?"""

import json

import torch
from encoder import encoder
from sentence_transformers.losses.GISTEmbedLoss import GISTEmbedLoss
from torch.nn import functional as F

_TOPICS, _WORDS, _LENGTH, _WIDTH, _BATCH, _STEPS = 6, 10, 5, 12, 14, 10
_NAMES = [f"t{topic}w{word}" for topic in range(_TOPICS) for word in range(_WORDS)]


def _texts(generator: torch.Generator, topics: torch.Tensor) -> list[str]:
    """Texts of words, most of them their topic's."""
    own = topics[:, None].expand(-1, _LENGTH)
    other = torch.randint(_TOPICS, own.shape, generator=generator)
    topic = torch.where(torch.rand(own.shape, generator=generator) < 0.8, own, other)
    word = torch.randint(_WORDS, own.shape, generator=generator)
    return [" ".join(_NAMES[place] for place in row) for row in (_WORDS * topic + word).tolist()]


def _pairs(generator: torch.Generator, topics: torch.Tensor) -> list[list[str]]:
    """Two texts of each topic. No two of a batch hold the same words: rounding would decide which is closer."""
    while True:
        columns = [_texts(generator, topics) for _ in range(2)]
        if len({tuple(sorted(text.split())) for column in columns for text in column}) == 2 * len(topics):
            return columns


def _guide(informed: bool, generator: torch.Generator):
    """Words of a topic are close to each other in one of both guides, and anywhere in the other."""
    model = encoder(_NAMES[::-1], 2 * _TOPICS).double()
    weight = torch.randn(len(_NAMES), 2 * _TOPICS, generator=generator, dtype=torch.float64)
    if informed:
        centre = torch.eye(_TOPICS, 2 * _TOPICS, dtype=torch.float64).repeat_interleave(_WORDS, dim=0)
        weight = 0.1 * weight + centre.flip(0)
    with torch.no_grad():
        model[0].words.weight[-len(_NAMES) :] = weight
        model[0].words.weight[: -len(_NAMES)] = 0
    return model


def run(seed: int = 0) -> dict[str, float]:
    """How close texts of the same topic are, and those of others, after training with each guide; and the last loss."""
    results = {}
    for name, informed in (("a guide that knows topics", True), ("one that knows nothing", False)):
        torch.manual_seed(seed)
        generator = torch.Generator().manual_seed(seed)
        model, guide = encoder(_NAMES, _WIDTH).double(), _guide(informed, generator)
        loss_of = GISTEmbedLoss(model, guide, temperature=0.1)
        for _ in range(_STEPS):
            topics = torch.randint(_TOPICS, (_BATCH,), generator=generator)
            columns = [model.tokenize(column) for column in _pairs(generator, topics)]
            model.zero_grad()
            loss = loss_of(columns, None)
            loss.backward()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter -= 14.0 * parameter.grad
        topics = torch.arange(_TOPICS).repeat(8)
        with torch.no_grad():
            found = F.normalize(model(model.tokenize(_texts(generator, topics)))["sentence_embedding"], dim=1)
        cosines, same = found @ found.T, topics[:, None] == topics
        results[f"{name}/same topic"] = cosines[same & ~torch.eye(len(topics), dtype=torch.bool)].mean().item()
        results[f"{name}/other topic"] = cosines[~same].mean().item()
        results[f"{name}/loss"] = loss.item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
