"""A stub: the published package has language models here."""

from .models import HierarchyTransformer

__all__ = ["HierarchyTransformer"]
