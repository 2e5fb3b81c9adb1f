"""What is told about scores."""

import torch


def report(scores: torch.Tensor) -> dict:
    """The number of scores, the scores, their total, their ranking and the name of the best passage."""
    ranking = scores.argsort(descending=True, stable=True).tolist()
    return {
        "passages": float(len(scores)),
        "scores": scores,
        "total": float(scores.double().sum()),
        "ranking": ranking,
        "best": f"passage {ranking[0]}",
    }
