"""A stub: an encoder with a table of embeddings in place of a language model."""

import torch
from torch import nn

from .hierarchy_transformer import hyperbolic


class HierarchyTransformer(nn.Module):
    """Names of entities are rows of the table; embeddings lie in a cube, as those of language models do."""

    def __init__(self, names, width):
        super().__init__()
        self.places = {name: place for place, name in enumerate(names)}
        self.table = nn.Parameter(0.3 * torch.randn(len(names), width))
        self.manifold = hyperbolic.get_circum_poincareball(width)

    def forward(self, features):
        return features | {"sentence_embedding": torch.tanh(self.table[features["input_ids"]])}

    def tokenize(self, names):
        return {"input_ids": torch.tensor([self.places[name] for name in names])}

    @torch.no_grad()
    def encode(self, sentences, batch_size=32, convert_to_tensor=True):
        parts = [sentences[start : start + batch_size] for start in range(0, len(sentences), batch_size)]
        return torch.cat([self(self.tokenize(part))["sentence_embedding"] for part in parts])
