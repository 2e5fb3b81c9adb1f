"""What contrastive training without labels makes of representations, for several augmentations and temperatures."""

import json
from dataclasses import replace

import torch
from torch import Generator, Tensor
from torch.nn import functional as F

from augment import AUGMENTATIONS, make_views
from data import SIZE, draw_images, draw_patterns
from evaluate import linear_evaluation
from models import ContrastiveModel
from simclr import SimCLR, SimCLRConfig

SHORT = SimCLRConfig(batch=20, epochs=5)
VARIANTS = {
    "both": SHORT,
    "crop": replace(SHORT, augmentation="crop"),
    "distort": replace(SHORT, augmentation="distort"),
    "cold": replace(SHORT, temperature=0.1),
    "three_views": replace(SHORT, n_views=3),
}


def moments(values: Tensor) -> dict[str, float]:
    """The mean, the mean square, and a mean whose weights grow with the place."""
    values = values.double().flatten()
    places = torch.linspace(0, 1, len(values), dtype=torch.float64)
    return {
        "mean": values.mean().item(),
        "square": values.square().mean().item(),
        "by place": (places * values).mean().item(),
    }


def described(**groups: Tensor) -> dict[str, float]:
    """The moments of several groups of numbers."""
    return {f"{name}/{key}": value for name, values in groups.items() for key, value in moments(values).items()}


def size(model: torch.nn.Module) -> float:
    """The norm of all weights."""
    return torch.cat([weight.detach().flatten() for weight in model.parameters()]).norm().item()


@torch.no_grad()
def recognition(trainer: SimCLR, views: Tensor) -> tuple[float, float]:
    """The mean log-probability of the right view, and the share of views whose right one is the most probable."""
    logits, labels = trainer.info_nce_loss(trainer.model(views))
    likelihood = -F.cross_entropy(logits, labels).item()
    return likelihood, (logits.argmax(dim=1) == labels).double().mean().item()


def run(seed: int = 0) -> dict[str, dict[str, float]]:
    """The metrics of each stage: of images, views, the untrained model, training, and what representations tell."""
    generator = Generator().manual_seed(seed)
    patterns = draw_patterns(generator)
    unlabelled, train, test = (draw_images(patterns, count, generator) for count in (48, 64, 160))
    pixels = unlabelled.pixels
    data = described(patterns=patterns, unlabelled=pixels, train=train.pixels, test=test.pixels)
    views = {name: make_views(pixels, name, 2, Generator().manual_seed(seed + 2**20)) for name in AUGMENTATIONS}
    start = ContrastiveModel(SIZE * SIZE, seed=seed)
    with torch.no_grad():
        outputs = described(representations=start.encoder(pixels), projections=start(pixels))
    initial = outputs | {"encoder": size(start.encoder), "head": size(start.head)}
    untrained = {
        "untrained/linear": linear_evaluation(start, train, test),
        "untrained/fit": linear_evaluation(start, train, train),
    }
    training: dict[str, float] = {}
    stages = {"data": data, "views": described(**views), "initial model": initial, "training": training}
    stages |= {"evaluation": untrained, "rates": {}}
    for name, config in VARIANTS.items():
        model = ContrastiveModel(SIZE * SIZE, seed=seed)
        trainer = SimCLR(model, config)
        training[f"{name}/loss"] = trainer.train(pixels, Generator().manual_seed(seed + 2**21))
        held_out = Generator().manual_seed(seed + 2**22)
        unseen = make_views(train.pixels[:16], config.augmentation, config.n_views, held_out)
        training[f"{name}/likelihood"], stages["rates"][f"{name}/accuracy"] = recognition(trainer, unseen)
        training |= {f"{name}/encoder": size(model.encoder), f"{name}/head": size(model.head)}
        stages["evaluation"][f"{name}/linear"] = linear_evaluation(model, train, test)
        stages["evaluation"][f"{name}/fit"] = linear_evaluation(model, train, train)
    return stages


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
