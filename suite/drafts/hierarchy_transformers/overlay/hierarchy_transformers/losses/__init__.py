"""A stub: the published package has further losses."""

from .hit_loss import HierarchyTransformerLoss, HyperbolicCentripetalLoss, HyperbolicClusteringLoss

__all__ = ["HierarchyTransformerLoss", "HyperbolicCentripetalLoss", "HyperbolicClusteringLoss"]
