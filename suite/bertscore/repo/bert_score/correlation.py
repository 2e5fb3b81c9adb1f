"""Agreement of a metric with human judgement."""

from torch import Tensor


def kendall_tau(scores: Tensor, judgements: Tensor) -> float:
    """Kendall rank correlation over all pairs whose judgements differ; both of shape (items,)."""
    above = (judgements.unsqueeze(0) > judgements.unsqueeze(1)).to(scores.dtype)
    order = (scores.unsqueeze(0) - scores.unsqueeze(1)).sign()
    return float((order * above).sum() / above.sum())


def pearson(scores: Tensor, judgements: Tensor) -> Tensor:
    """Pearson correlation over the last dimension."""
    scores = scores - scores.mean(dim=-1, keepdim=True)
    judgements = judgements - judgements.mean(dim=-1, keepdim=True)
    return (scores * judgements).sum(dim=-1) / (scores.norm(dim=-1) * judgements.norm(dim=-1))
