"""A stub: the published package has further evaluators."""

from .hit_eval import HierarchyTransformerEvaluator

__all__ = ["HierarchyTransformerEvaluator"]
