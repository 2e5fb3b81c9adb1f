"""Are pairs found again after training with large cached batches, and after training with small ones?"""

import json

import torch
from encoder import encoder
from sentence_transformers.losses.CachedMultipleNegativesRankingLoss import CachedMultipleNegativesRankingLoss
from sentence_transformers.util import cos_sim

_WORDS, _TOPICS, _LENGTH, _WIDTH, _BATCH, _STEPS = 40, 20, 5, 8, 16, 12


def _pairs(generator: torch.Generator, count: int) -> list[dict[str, torch.Tensor]]:
    """Two texts each about the same topic: most of the words are the topic's own two, the others are any."""
    topics = torch.randperm(_TOPICS, generator=generator).repeat(2)[:count]
    columns = []
    for _ in range(2):
        own = 2 * topics[:, None] + torch.randint(2, (count, _LENGTH), generator=generator)
        other = torch.randint(_WORDS, (count, _LENGTH), generator=generator)
        drawn = torch.rand(count, _LENGTH, generator=generator) < 0.7
        mask = torch.rand(count, _LENGTH, generator=generator) < 0.9
        columns.append({"input_ids": torch.where(drawn, own, other), "attention_mask": mask.long()})
    return columns


def _trained(seed: int, batch: int, mini_batch_size: int) -> dict[str, float]:
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    model = encoder(_WORDS, _WIDTH, dropout=0.1).double()
    loss_of = CachedMultipleNegativesRankingLoss(model, scale=10.0, mini_batch_size=mini_batch_size)
    optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
    for _ in range(_STEPS):
        columns = _pairs(generator, _BATCH)
        optimizer.zero_grad()
        # Small batches are accumulated, so that each step sees as many pairs.
        for start in range(0, _BATCH, batch):
            part = [{name: item[start : start + batch] for name, item in column.items()} for column in columns]
            (loss_of(part, None) * batch / _BATCH).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        new = _pairs(generator, _TOPICS)
        scores = cos_sim(*(model(column)["sentence_embedding"] for column in new))
        found = (scores.argmax(dim=1) == torch.arange(_TOPICS)).double().mean().item()
        return {"found": found, "loss": loss_of(new, None).item()}


def run(seed: int = 0) -> dict[str, float]:
    """The share of pairs that are found again, and the loss of new pairs, by sizes of batches and mini-batches."""
    results = {}
    for batch, mini_batch_size in ((_BATCH, _BATCH), (_BATCH, 6), (4, 4)):
        for name, value in _trained(seed, batch, mini_batch_size).items():
            results[f"batches of {batch} in {mini_batch_size}s/{name}"] = value
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
