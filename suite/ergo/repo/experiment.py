"""Cross-entropy, its weighted form and the adaptive focal loss on documents in which few event pairs are causal."""

import json

import torch

from data import collate, make_documents
from evaluation import expected_scores, predict, share_of_negatives
from model import ErgoConfig, build_model, focal_loss
from training import TrainConfig, train

VARIANTS = {
    "cross_entropy": {"alpha": (1.0, 1.0, 1.0), "gamma": 0.0},
    "weighted": {"alpha": 0.75, "gamma": 0.0},
    "focal": {"alpha": 0.75, "gamma": 2.0},
}


def run(seed: int = 0) -> dict[str, float]:
    """Train a model with each loss; report how it does on held-out documents, and who makes up the loss.

    The negatives' share is taken on the model that was trained with cross-entropy.
    """
    generator = torch.Generator().manual_seed(seed)
    training, held_out = collate(make_documents(16, generator)), collate(make_documents(24, generator))
    results, scores = {}, {}
    for name, settings in VARIANTS.items():
        model = build_model(ErgoConfig(), seed)
        results[f"{name}/loss"] = train(model, training, focal_loss(**settings), TrainConfig())
        scores[name] = predict(model, held_out)
        results |= {f"{name}/{key}": value for key, value in expected_scores(scores[name], held_out.labels).items()}
        criterion = focal_loss(**settings, size_average=False)
        results[f"{name}/negatives"] = share_of_negatives(criterion, scores["cross_entropy"], held_out.labels)
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
