"""How queries and documents are scored."""

from .xtr import XTRKDScores, XTRScores, xtr_kd_scores, xtr_scores, xtr_scores_pairwise

__all__ = ["XTRKDScores", "XTRScores", "xtr_kd_scores", "xtr_scores", "xtr_scores_pairwise"]
