"""A stand-in for BERT: fixed attention layers over word vectors in which near-synonyms lie close."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from moverscore.tokenizer import PAD, WordPieceTokenizer


@dataclass(frozen=True)
class EncoderConfig:
    """Sizes of the encoder, and how its layers work."""

    width: int = 32
    layers: int = 8
    # How much a word takes from its context in each layer.
    mixing: float = 0.25
    # What is left of a word's spelling after each layer: the first layers know the form, the last ones the meaning.
    fading: float = 0.6


class TinyEncoder:
    """Hidden states of every layer. Half of the width holds a word's spelling, half of it its meaning."""

    def __init__(
        self, tokenizer: WordPieceTokenizer, meanings: Mapping[str, str], config: EncoderConfig, seed: int
    ) -> None:
        """`meanings` maps words to concepts; a word without an entry is a concept of its own."""
        self.config = config
        self._tokenizer = tokenizer
        generator = torch.Generator().manual_seed(seed)
        pieces, half = tokenizer.vocabulary, config.width // 2
        concepts = dict.fromkeys(meanings.get(piece, piece) for piece in pieces)
        vectors = dict(zip(concepts, torch.randn(len(concepts), half, generator=generator), strict=True))
        spelling = torch.randn(len(pieces), half, generator=generator)
        meaning = torch.stack([vectors[meanings.get(piece, piece)] for piece in pieces])
        nuance = 0.25 * torch.randn(len(pieces), half, generator=generator)
        self._table = torch.cat([1.5 * spelling, meaning + nuance], dim=1)
        self._queries = torch.randn(config.layers, config.width, config.width, generator=generator) / config.width

    def encode(self, sentences: list[list[str]]) -> Tensor:
        """Hidden states (layers + 1, batch, length, width) of tokenized sentences, the word vectors first.

        Shorter sentences are padded at their end; no word attends to padding.
        """
        length = max(map(len, sentences))
        padded = [[*tokens, *[PAD] * (length - len(tokens))] for tokens in sentences]
        absent = torch.tensor([[token == PAD for token in tokens] for tokens in padded])
        state = self._table[torch.tensor([self._tokenizer.ids(tokens) for tokens in padded])]
        fading = torch.ones(self.config.width)
        fading[: self.config.width // 2] = self.config.fading
        states = [state]
        for query in self._queries:
            attention = (state @ query @ state.transpose(1, 2)).masked_fill(absent.unsqueeze(1), -torch.inf)
            state = (state + self.config.mixing * attention.softmax(dim=-1) @ state) * fading
            states.append(state)
        return torch.stack(states)
