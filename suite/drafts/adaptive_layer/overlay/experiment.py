"""How well are pairs found by the first layers alone, after training the last layer and after training all?"""

import json

import torch
from encoder import InBatch, encoder
from sentence_transformers.losses.AdaptiveLayerLoss import AdaptiveLayerLoss
from torch.nn import functional as F

_WORDS, _TOPICS, _LENGTH, _WIDTH, _LAYERS, _BATCH, _STEPS = 80, 40, 5, 12, 3, 24, 25


def _pairs(generator: torch.Generator, count: int) -> list[dict[str, torch.Tensor]]:
    """Two texts each about the same topic: most words are one of the topic's two, the others are any."""
    topics = torch.randperm(_TOPICS, generator=generator)[:count]
    columns = []
    for _ in range(2):
        own = 2 * topics[:, None] + torch.randint(2, (count, _LENGTH), generator=generator)
        other = torch.randint(_WORDS, (count, _LENGTH), generator=generator)
        drawn = torch.rand(count, _LENGTH, generator=generator) < 0.7
        ids = torch.where(drawn, own, other)
        columns.append({"input_ids": ids, "attention_mask": torch.ones_like(ids)})
    return columns


def run(seed: int = 0) -> dict[str, float]:
    """The mean probability of a pair's other text among all, by the training and the layer that is used."""
    results = {}
    for name, weights in {"last layer": (0, 0), "all layers": (1, 0), "all layers, aligned": (1, 1)}.items():
        torch.manual_seed(seed)
        generator = torch.Generator().manual_seed(seed)
        model = encoder(_WORDS, _WIDTH, _LAYERS).double()
        loss_of = AdaptiveLayerLoss(
            model, InBatch(model), -1, prior_layers_weight=weights[0], kl_div_weight=weights[1], kl_temperature=0.5
        )
        optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
        for _ in range(_STEPS):
            optimizer.zero_grad()
            loss_of(_pairs(generator, _BATCH), None).backward()
            optimizer.step()
        with torch.no_grad():
            states = [model[0].auto_model(*column.values()) for column in _pairs(generator, _TOPICS)]
            for layer in range(1, _LAYERS + 1):
                a, b = (F.normalize(item[layer].mean(dim=1), dim=1) for item in states)
                found = (30 * a @ b.T).softmax(dim=1).diagonal().mean()
                results[f"{name}/layer {layer}"] = found.item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
