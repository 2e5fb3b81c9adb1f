"""What the embeddings say of a hierarchy: scores of subsumptions, and norms by depth (sections 3 and 4.5)."""

import torch
from torch import Tensor

from src.hierarchy_transformers.datasets import Hierarchy, Triplet
from src.hierarchy_transformers.models.encoder import HierarchyTransformer


def subsumption_scores(
    model: HierarchyTransformer, entities: list[str], others: list[str], norm_weight: float
) -> Tensor:
    """How far each pair looks like an entity and one of its ancestors (eq. 6), (len(entities),)."""
    below, above = model.encode(entities), model.encode(others)
    rise = model.manifold.norm(above) - model.manifold.norm(below)
    return -(model.manifold.distance(below, above) + norm_weight * rise)


def ranking(model: HierarchyTransformer, triplets: list[Triplet], norm_weight: float) -> float:
    """Share of (true pair, false pair) combinations that the scores order rightly: the area under the ROC curve."""
    entities = [row.entity for row in triplets]
    true = subsumption_scores(model, entities, [row.parent for row in triplets], norm_weight)
    false = subsumption_scores(model, entities, [row.negative for row in triplets], norm_weight)
    return (true[:, None] > false[None, :]).double().mean().item()


def depth_correlation(model: HierarchyTransformer, hierarchy: Hierarchy) -> float:
    """Pearson correlation of the depths of entities and the hyperbolic norms of their embeddings."""
    norms = model.manifold.norm(model.encode(hierarchy.entities))
    depths = torch.tensor([hierarchy.depth(entity) for entity in hierarchy.entities], dtype=norms.dtype)
    return torch.corrcoef(torch.stack((norms, depths)))[0, 1].item()


def threshold(true: Tensor, false: Tensor) -> float:
    """The score above which a pair counts as a subsumption: halfway between the mean scores of true and false pairs."""
    return ((true.mean() + false.mean()) / 2).item()


def f_score(true: Tensor, false: Tensor, limit: float) -> float:
    """The F-score of the answer that scores above a limit give to true and to false pairs."""
    hits = (true > limit).sum()
    return (2 * hits / (hits + (false > limit).sum() + len(true))).item()
