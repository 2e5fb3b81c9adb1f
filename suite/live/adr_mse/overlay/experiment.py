"""How near do the ranks of a small cross-encoder come to those of its teacher, and how smooth are they?"""

import json
import random

import torch
from sentence_transformers.cross_encoder import CrossEncoder
from sentence_transformers.cross_encoder.losses import ADRMSELoss

_LETTERS, _STEPS, _RATE = "abcdefgh", 12, 0.1


def _texts(draw, number, length):
    """Texts of which no two have the same letters, so that no scores are tied."""
    texts = {}
    while len(texts) < number:
        letters = draw.choices(_LETTERS, k=length)
        texts["".join(sorted(letters))] = "".join(letters)
    return list(texts.values())


def _rank_errors(model, queries, documents, labels):
    """The mean distance of a document's rank from the one that the teacher gives."""
    errors = []
    for query, texts, wanted in zip(queries, documents, labels, strict=True):
        scores = model(model.preprocess([(query, text) for text in texts]))["scores"].flatten()
        ranks = [values.argsort(descending=True).argsort() for values in (scores, wanted)]
        errors.append((ranks[0] - ranks[1]).abs().float().mean())
    return torch.stack(errors).mean().item()


def run(seed: int = 0) -> dict[str, float]:
    """Losses and rank errors, before and after a few steps of training, by `alpha`."""
    draw = random.Random(seed)
    generator = torch.Generator().manual_seed(seed)
    teacher = CrossEncoder()
    teacher.weight.data = torch.randn(teacher.weight.shape, generator=generator)
    queries = _texts(draw, 6, 4)
    documents = [_texts(draw, draw.randint(4, 7), 6) for _ in queries]
    with torch.no_grad():
        labels = [
            teacher(teacher.preprocess([(query, text) for text in texts]))["scores"].flatten()
            for query, texts in zip(queries, documents, strict=True)
        ]
    results = {}
    for alpha in (0.5, 2.0):
        model = CrossEncoder()
        model.weight.data = 0.1 * torch.randn(model.weight.shape, generator=generator)
        loss = ADRMSELoss(model, alpha=alpha, mini_batch_size=-1)
        with torch.no_grad():
            results[f"alpha {alpha}/loss before"] = loss((queries, documents), labels).item()
            results[f"alpha {alpha}/rank error before"] = _rank_errors(model, queries, documents, labels)
        for _ in range(_STEPS):
            (slope,) = torch.autograd.grad(loss((queries, documents), labels), model.weight)
            model.weight.data.sub_(_RATE * slope / slope.norm().clamp(min=1.0))
        with torch.no_grad():
            results[f"alpha {alpha}/loss after"] = loss((queries, documents), labels).item()
            results[f"alpha {alpha}/rank error after"] = _rank_errors(model, queries, documents, labels)
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
