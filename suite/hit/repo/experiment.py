"""Multi-hop inference on a toy hierarchy: trained on direct subsumptions, tested on those that follow from them."""

import copy
import json

import torch
from torch import Generator, Tensor, nn

from src.hierarchy_transformers.datasets import Hierarchy, Triplet, draw_triplets, things
from src.hierarchy_transformers.evaluation import depth_correlation, f_score, ranking, subsumption_scores, threshold
from src.hierarchy_transformers.losses.contrastive_loss import HyperbolicContrastiveLoss
from src.hierarchy_transformers.losses.hit_loss import HierarchyTransformerLoss
from src.hierarchy_transformers.models.encoder import EncoderConfig, HierarchyTransformer, build_encoder
from src.hierarchy_transformers.training import TrainConfig, pair_batch, train, triplet_batch

NEGATIVES = 3
CLUSTERING_MARGIN = 3.0
CENTRIPETAL_MARGIN = 0.5
CLUSTERING_WEIGHT, CENTRIPETAL_WEIGHT = 0.8, 1.5
CONTRASTIVE_MARGIN = 5.0
NORM_WEIGHT = 0.6


def stream(seed: int, number: int) -> Generator:
    """One of the random streams of a seed."""
    return Generator().manual_seed(seed + number * 2**20)


def moments(values: Tensor) -> dict[str, float]:
    """The mean, the mean square, and a mean whose weights grow with the place."""
    values = values.double().flatten()
    places = torch.linspace(0, 1, len(values), dtype=torch.float64)
    return {
        "mean": values.mean().item(),
        "square": values.square().mean().item(),
        "by place": (places * values).mean().item(),
    }


def drawn(hierarchy: Hierarchy, seed: int) -> dict[str, list[Triplet]]:
    """Triplets for training, and of two halves of the indirect subsumptions for validation and for tests."""
    direct, indirect = hierarchy.direct(), hierarchy.indirect()
    order = torch.randperm(len(indirect), generator=stream(seed, 0)).tolist()
    half = len(order) // 2
    validation, tests = [indirect[index] for index in order[:half]], [indirect[index] for index in order[half:]]
    return {
        "training": draw_triplets(hierarchy, direct, NEGATIVES, stream(seed, 1)),
        "validation": draw_triplets(hierarchy, validation, 2, stream(seed, 2)),
        "random": draw_triplets(hierarchy, tests, 2, stream(seed, 3)),
        "hard": draw_triplets(hierarchy, tests, 3, stream(seed, 4), hard=True),
    }


def described(hierarchy: Hierarchy, triplets: list[Triplet]) -> dict[str, float]:
    """What is in triplets: the places of the entities in the hierarchy."""
    place = {entity: float(index) for index, entity in enumerate(hierarchy.entities)}
    return {
        f"{column}/{key}": value
        for column in ("parent", "negative")
        for key, value in moments(torch.tensor([place[getattr(row, column)] for row in triplets])).items()
    }


def geometry(model: HierarchyTransformer, hierarchy: Hierarchy) -> dict[str, float]:
    """Sizes of embeddings and of weights, and hyperbolic norms and distances."""
    embeddings = model.encode(hierarchy.entities)
    words = torch.tensor([len(entity.split()) for entity in hierarchy.entities])
    place = {entity: index for index, entity in enumerate(hierarchy.entities)}
    below, above = torch.tensor([[place[entity] for entity in pair] for pair in hierarchy.direct()]).T
    distances, others = model.manifold.distance(embeddings[:, None], embeddings), len(place) * (len(place) - 1)
    with torch.no_grad():
        weights = torch.cat([weight.flatten() for weight in model.parameters()])
    return {
        "embedding": embeddings.mean().item(),
        "embedding_square": embeddings.square().mean().item(),
        "long_name_square": embeddings[words > 1].square().mean().item(),
        "norm": model.manifold.norm(embeddings).mean().item(),
        "distance": distances.sum().item() / others,
        "parent_distance": distances[below, above].mean().item(),
        "weights": weights.norm().item(),
    }


def losses_of(loss_function: nn.Module, batch: tuple[list[dict[str, Tensor]], Tensor]) -> dict[str, float]:
    """What a loss returns for a batch, and the norm of its gradient."""
    parts = loss_function(*batch)
    slopes = torch.autograd.grad(parts["loss"], list(loss_function.model.parameters()), materialize_grads=True)
    gradient = torch.cat([slope.flatten() for slope in slopes]).norm()
    return {name: value.item() for name, value in parts.items()} | {"gradient": gradient.item()}


def both_scores(model: HierarchyTransformer, triplets: list[Triplet]) -> list[Tensor]:
    """Scores of entities with their parents, and with their negatives."""
    found = []
    for column in ("parent", "negative"):
        pairs = [(row.entity, getattr(row, column)) for row in triplets]
        found.append(subsumption_scores(model, *zip(*pairs, strict=True), NORM_WEIGHT))
    return found


def run(seed: int = 0) -> dict[str, dict[str, float]]:
    """Re-train one encoder with each loss: the data, the encoder, losses before and after, and scores of tests."""
    hierarchy = things()
    triplets = drawn(hierarchy, seed)
    data = {
        f"{name}/{key}": value for name, rows in triplets.items() for key, value in described(hierarchy, rows).items()
    }
    words = tuple(sorted({word for name in hierarchy.entities for word in name.split()}))
    start = build_encoder(EncoderConfig(words), seed)
    stages = {"data": data, "initial model": geometry(start, hierarchy)}
    models = {name: copy.deepcopy(start) for name in ("before", "contrastive", "clustering", "hit")}
    margins = CLUSTERING_MARGIN, CENTRIPETAL_MARGIN
    losses = {
        "contrastive": HyperbolicContrastiveLoss(models["contrastive"], CONTRASTIVE_MARGIN),
        "clustering": HierarchyTransformerLoss(models["clustering"], CLUSTERING_WEIGHT, margins[0], 0.0, margins[1]),
        "hit": HierarchyTransformerLoss(models["hit"], CLUSTERING_WEIGHT, margins[0], CENTRIPETAL_WEIGHT, margins[1]),
    }
    stages |= {"first losses": {}, "training": {}, "evaluation": {}, "rates": {}}
    for name, loss_function in losses.items():
        pairs = name == "contrastive"
        batch = (pair_batch if pairs else triplet_batch)(start, triplets["training"][::NEGATIVES])
        stages["first losses"] |= {f"{name}/{key}": value for key, value in losses_of(loss_function, batch).items()}
        parts = train(loss_function, triplets["training"], TrainConfig(), stream(seed, 5), pairs=pairs)
        metrics = parts | geometry(models[name], hierarchy)
        stages["training"] |= {f"{name}/{key}": value for key, value in metrics.items()}
    for name, model in models.items():
        true, false = both_scores(model, triplets["validation"])
        limit = threshold(true, false)
        stages["evaluation"] |= {f"{name}/threshold": limit, f"{name}/depths": depth_correlation(model, hierarchy)}
        for kind in ("random", "hard"):
            true, false = both_scores(model, triplets[kind])
            found = {"parent": (true - limit).mean(), "negative": (false - limit).mean()}
            stages["evaluation"] |= {f"{name}/{kind}/{side}": value.item() for side, value in found.items()}
            stages["rates"][f"{name}/{kind}/f_score"] = f_score(true, false, limit)
        stages["rates"][f"{name}/ranking"] = ranking(model, triplets["random"] + triplets["hard"], NORM_WEIGHT)
    return stages


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
