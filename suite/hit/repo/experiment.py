"""Multi-hop inference on a toy hierarchy: trained on direct subsumptions, tested on those that follow from them."""

import copy
import json

import torch

from src.hierarchy_transformers.datasets import draw_triplets, things
from src.hierarchy_transformers.evaluation import depth_correlation, ranking
from src.hierarchy_transformers.losses.contrastive_loss import HyperbolicContrastiveLoss
from src.hierarchy_transformers.losses.hit_loss import HierarchyTransformerLoss
from src.hierarchy_transformers.models.encoder import EncoderConfig, build_encoder
from src.hierarchy_transformers.training import TrainConfig, train

NORM_WEIGHT = 0.6


def run(seed: int = 0) -> dict[str, float]:
    """Re-train one encoder with each loss; report the losses, how tests are ranked, and how norms follow depths."""
    generator = torch.Generator().manual_seed(seed)
    hierarchy = things()
    training = draw_triplets(hierarchy, hierarchy.direct(), 4, generator)
    tests = {
        "random": draw_triplets(hierarchy, hierarchy.indirect(), 2, generator),
        "hard": draw_triplets(hierarchy, hierarchy.indirect(), 2, generator, hard=True),
    }
    words = tuple(sorted({word for name in hierarchy.entities for word in name.split()}))
    start = build_encoder(EncoderConfig(words), seed)
    models = {name: copy.deepcopy(start) for name in ("before", "contrastive", "clustering", "hit")}
    losses = {
        "contrastive": HyperbolicContrastiveLoss(models["contrastive"]),
        "clustering": HierarchyTransformerLoss(models["clustering"], 0.8, 3.0, 0.0, 0.5),
        "hit": HierarchyTransformerLoss(models["hit"], 0.8, 3.0, 1.5, 0.5),
    }
    results = {}
    for name, model in models.items():
        if name in losses:
            order = torch.Generator().manual_seed(seed)
            parts = train(losses[name], training, TrainConfig(), order, pairs=name == "contrastive")
            results |= {f"{name}/{part}": value for part, value in parts.items()}
        results |= {f"{name}/ranking_{kind}": ranking(model, rows, NORM_WEIGHT) for kind, rows in tests.items()}
        results[f"{name}/depth_correlation"] = depth_correlation(model, hierarchy)
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
