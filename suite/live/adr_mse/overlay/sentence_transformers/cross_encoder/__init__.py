"""A stand-in for cross-encoders: scores from counts of letters, without a tokenizer and a transformer."""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["CrossEncoder"]

_LETTERS = "abcdefgh"


class CrossEncoder(nn.Module):
    """A bilinear score of a query and a document, each a vector of the counts of its letters."""

    def __init__(self, num_labels: int = 1) -> None:
        super().__init__()
        self.num_labels = num_labels
        self.weight = nn.Parameter(torch.zeros(num_labels, len(_LETTERS), len(_LETTERS)))

    @property
    def device(self) -> torch.device:
        """The device of the parameters."""
        return self.weight.device

    def preprocess(
        self, pairs: list[tuple[str, str]], prompt: str | None = None, task: str | None = None
    ) -> dict[str, Tensor]:
        """Turn pairs of query and document into tensors. The prompt stands before the query; the task is not used."""
        texts = [[(prompt or "") + query for query, _ in pairs], [document for _, document in pairs]]
        counts = torch.tensor([[[text.count(letter) for letter in _LETTERS] for text in side] for side in texts])
        return {"queries": counts[0].float(), "documents": counts[1].float()}

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        """Add the scores (pairs, num_labels) to the features."""
        scores = torch.einsum("pq,lqd,pd->pl", features["queries"], self.weight, features["documents"])
        return {**features, "scores": scores}
