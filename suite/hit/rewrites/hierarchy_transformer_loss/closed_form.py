"""The distance in closed form (asinh of a ratio, no Möbius addition), with einsum, cut off where artanh is."""

import math

import torch
from src.hierarchy_transformers.models.hyperbolic import BOUNDARY


def hyperbolic_distance(u, v, curvature):
    def gap(x):
        return 1 - curvature * torch.einsum("bd,bd->b", x, x)

    # The norm, unlike a root of the sum of squares, has a finite gradient at zero.
    length = torch.linalg.vector_norm(u - v, dim=-1)
    half = torch.asinh(curvature**0.5 * length / torch.sqrt(gap(u) * gap(v)))
    return 2 / curvature**0.5 * half.clamp(max=math.atanh(BOUNDARY))


def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
    columns = [self.model(features)["sentence_embedding"] for features in sentence_features]
    dtype = columns[0].dtype
    entity, parent, negative = (column.to(torch.float64) for column in columns)
    c, origin = self.model.manifold.curvature, torch.zeros_like(entity)
    pull = hyperbolic_distance(entity, parent, c)
    push = hyperbolic_distance(entity, negative, c)
    depth_order = hyperbolic_distance(parent, origin, c) - hyperbolic_distance(entity, origin, c)
    cluster = torch.clamp(pull - push + self.clustering_margin, min=0).sum() / len(entity)
    centri = torch.clamp(depth_order + self.centripetal_margin, min=0).sum() / len(entity)
    return {
        "loss": (self.clustering_weight * cluster + self.centripetal_weight * centri).to(dtype),
        "cluster_loss": cluster.to(dtype),
        "centri_loss": centri.to(dtype),
    }
