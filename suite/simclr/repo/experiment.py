"""What contrastive training without labels makes of representations, for several augmentations and temperatures."""

import json
from dataclasses import replace

import torch

from data import SIZE, draw_images, draw_patterns
from evaluate import linear_evaluation
from models import ContrastiveModel
from simclr import SimCLR, SimCLRConfig

SHORT = SimCLRConfig(batch=12, epochs=6)
VARIANTS = {
    "both": SHORT,
    "crop": replace(SHORT, augmentation="crop"),
    "distort": replace(SHORT, augmentation="distort"),
    "cold": replace(SHORT, temperature=0.1),
    "three_views": replace(SHORT, n_views=3),
}


def run(seed: int = 0) -> dict[str, float]:
    """The last epoch's loss and the linear evaluation of each variant, and the latter of an untrained encoder."""
    generator = torch.Generator().manual_seed(seed)
    patterns = draw_patterns(generator)
    unlabelled, train, test = (draw_images(patterns, count, generator) for count in (48, 60, 200))
    results = {"untrained/linear": linear_evaluation(ContrastiveModel(SIZE * SIZE, seed=seed), train, test)}
    for name, config in VARIANTS.items():
        model = ContrastiveModel(SIZE * SIZE, seed=seed)
        results[f"{name}/loss"] = SimCLR(model, config).train(unlabelled.pixels, generator)
        results[f"{name}/linear"] = linear_evaluation(model, train, test)
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
