"""A transformer encoder for entity names, without a normalisation layer after pooling (section 3)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from src.hierarchy_transformers.models.hyperbolic import PoincareBall

PAD, UNKNOWN = "[pad]", "[unk]"


@dataclass(frozen=True)
class EncoderConfig:
    """Vocabulary and sizes; a curvature of None makes the ball circumscribe the embeddings' cube."""

    words: tuple[str, ...]
    dim: int = 24
    heads: int = 2
    curvature: float | None = None


class HierarchyTransformer(nn.Module):
    """Word embeddings, one attention layer, tanh, mean pooling; `manifold` is the ball that the embeddings lie in."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.manifold = (
            PoincareBall.around_cube(config.dim) if config.curvature is None else PoincareBall(config.curvature)
        )
        self.vocabulary = {word: index for index, word in enumerate((PAD, UNKNOWN, *config.words))}
        self.embed = nn.Embedding(len(self.vocabulary), config.dim)
        self.attention = nn.MultiheadAttention(config.dim, config.heads, bias=False, batch_first=True)
        self.output = nn.Linear(config.dim, config.dim)

    def tokenize(self, texts: Sequence[str]) -> dict[str, Tensor]:
        """Features of texts: `input_ids` and `attention_mask`, both (batch, length), padded on the right."""
        rows = [[self.vocabulary.get(word, self.vocabulary[UNKNOWN]) for word in text.split()] for text in texts]
        length = max(len(row) for row in rows)
        padding = self.vocabulary[PAD]
        return {
            "input_ids": torch.tensor([row + [padding] * (length - len(row)) for row in rows]),
            "attention_mask": torch.tensor([[1] * len(row) + [0] * (length - len(row)) for row in rows]),
        }

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        """The features with `token_embeddings` (batch, length, dim) and `sentence_embedding` (batch, dim) added."""
        mask = features["attention_mask"]
        words = self.embed(features["input_ids"])
        attended, _ = self.attention(words, words, words, key_padding_mask=mask == 0, need_weights=False)
        tokens = torch.tanh(self.output(words + attended))
        weights = mask.unsqueeze(-1).to(tokens.dtype)
        pooled = (tokens * weights).sum(1) / weights.sum(1)
        return {**features, "token_embeddings": tokens, "sentence_embedding": pooled}

    @torch.no_grad()
    def encode(self, texts: Sequence[str]) -> Tensor:
        """Embeddings of texts for evaluation, (len(texts), dim)."""
        return self(self.tokenize(texts))["sentence_embedding"]


def build_encoder(config: EncoderConfig, seed: int) -> HierarchyTransformer:
    """An encoder whose weights depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return HierarchyTransformer(config)
