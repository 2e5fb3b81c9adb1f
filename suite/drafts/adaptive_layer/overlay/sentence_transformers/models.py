"""Stubs: a small network in the place of a transformer, and a mean over tokens."""

import torch
from torch import nn


class Config:
    """Settings of a network."""

    def __init__(self) -> None:
        self.output_hidden_states = False


class Network(nn.Module):
    """Embeddings of tokens, and layers in which a token sees the mean of all; it returns the list of what there was."""

    def __init__(self, words: int, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.config = Config()
        self.words = nn.Embedding(words, width)
        self.layers = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(layers))
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids, mask):
        states = [self.words(ids)]
        kept = mask.unsqueeze(-1).to(states[0].dtype)
        for layer in self.layers:
            mean = (states[-1] * kept).sum(dim=1, keepdim=True) / kept.sum(dim=1, keepdim=True)
            both = torch.cat([states[-1], mean.expand_as(states[-1])], dim=-1)
            states.append(states[-1] + torch.tanh(layer(self.dropout(both))))
        return states


class Transformer(nn.Module):
    """Leaves (rows, tokens, width) in `token_embeddings`, and those of all layers where its config says so."""

    def __init__(self, words: int, width: int, layers: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.auto_model = Network(words, width, layers, dropout)

    def forward(self, features):
        states = self.auto_model(features["input_ids"], features["attention_mask"])
        output = features | {"token_embeddings": states[-1]}
        if self.auto_model.config.output_hidden_states:
            output["all_layer_embeddings"] = tuple(states)
        return output


class Pooling(nn.Module):
    """The mean of the tokens that the mask keeps."""

    def forward(self, features):
        kept = features["attention_mask"].unsqueeze(-1).to(features["token_embeddings"].dtype)
        total = (features["token_embeddings"] * kept).sum(dim=1)
        return features | {"sentence_embedding": total / kept.sum(dim=1)}


class Dense(nn.Module):
    """Dropout and a linear layer behind the pooling."""

    def __init__(self, width: int, out: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout, self.linear = nn.Dropout(dropout), nn.Linear(width, out)

    def forward(self, features):
        return features | {"sentence_embedding": self.linear(self.dropout(features["sentence_embedding"]))}
