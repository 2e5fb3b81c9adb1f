"""A toy language model whose texts are words, with a tokenizer."""

import torch
from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase


class Batch(dict):
    def to(self, device):
        return Batch({name: item.to(device) for name, item in self.items()})


class Words(PreTrainedTokenizerBase):
    """Each word is a token; the shorter texts are padded on the right."""

    def __init__(self, words: list[str]) -> None:
        self.vocab = {word: place + 1 for place, word in enumerate(words)}

    def __call__(self, texts: list[str], padding: bool = True, return_tensors: str = "pt") -> Batch:
        rows = [[self.vocab[word] for word in text.split()] for text in texts]
        width = max(len(row) for row in rows)
        ids = [row + [0] * (width - len(row)) for row in rows]
        mask = [[1] * len(row) + [0] * (width - len(row)) for row in rows]
        return Batch({"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask)})


class Block(nn.Module):
    """Adds to each token something of the mean of all tokens up to it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(2 * width, width), nn.Linear(width, width)

    def forward(self, hidden: Tensor) -> tuple[Tensor]:
        count = torch.arange(1, hidden.shape[1] + 1, dtype=hidden.dtype)[:, None]
        seen = torch.cat([hidden, hidden.cumsum(dim=1) / count], dim=-1)
        return (hidden + 0.5 * self.outer(torch.tanh(self.inner(seen))),)


class Body(nn.Module):
    def __init__(self, words: int, width: int, layers: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words + 1, width)
        self.layers = nn.ModuleList(Block(width) for _ in range(layers))


class Output:
    def __init__(self, hidden_states, logits) -> None:
        self.hidden_states, self.logits = hidden_states, logits


class Model(PreTrainedModel):
    """Embeddings, blocks, and a score of each word."""

    def __init__(self, words: int, width: int, layers: int) -> None:
        super().__init__()
        self.config = PretrainedConfig(num_hidden_layers=layers, model_type="toy")
        self.model = Body(words, width, layers)

    @property
    def device(self) -> torch.device:
        return self.model.words.weight.device

    @property
    def dtype(self) -> torch.dtype:
        return self.model.words.weight.dtype

    def forward(self, input_ids, attention_mask=None, output_hidden_states=False) -> Output:
        states = [self.model.words(input_ids)]
        for layer in self.model.layers:
            states.append(layer(states[-1])[0])
        return Output(tuple(states) if output_hidden_states else None, states[-1] @ self.model.words.weight.T)
