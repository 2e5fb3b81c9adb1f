"""A stub: a sequence of modules with a tokenizer."""

import torch
from torch import Tensor, nn


class SentenceTransformer(nn.Sequential):
    """Modules that take a dict of tensors and return one; the last leaves (rows, width) in `sentence_embedding`."""

    def __init__(self, *modules: nn.Module, tokenizer=None, max_seq_length: int = 16) -> None:
        super().__init__(*modules)
        self.tokenizer, self.max_seq_length = tokenizer, max_seq_length

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def tokenize(self, texts: list[str]) -> dict[str, Tensor]:
        return self.tokenizer(texts, self.max_seq_length)
