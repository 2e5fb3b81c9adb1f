"""A stand-in for sentence encoders: a linear map of feature vectors, without a tokenizer and a transformer."""

from torch import nn

__all__ = ["SentenceTransformer"]


class SentenceTransformer(nn.Module):
    """Embeds inputs that are vectors already."""

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(features, width)

    def forward(self, features: dict) -> dict:
        """Add the embeddings (rows, width) to the features."""
        return {**features, "sentence_embedding": self.linear(features["vectors"])}
