"""A tokenizer of words, and a small encoder."""

import torch
from sentence_transformers.models import Transformer
from sentence_transformers.SentenceTransformer import SentenceTransformer
from torch import Tensor, nn

SPECIAL = ("[PAD]", "[CLS]", "[SEP]")


class Words:
    """A word is a token. Each text begins with [CLS] and ends with [SEP]; the shorter ones are padded."""

    def __init__(self, words: list[str]) -> None:
        self.words = [*SPECIAL, *words]
        self.vocab = {word: place for place, word in enumerate(self.words)}

    def __call__(self, texts: list[str], longest: int) -> dict[str, Tensor]:
        rows = [["[CLS]", *text.split()[: longest - 2], "[SEP]"] for text in texts]
        width = max(len(row) for row in rows)
        ids = [[self.vocab[word] for word in row] + [0] * (width - len(row)) for row in rows]
        mask = [[1] * len(row) + [0] * (width - len(row)) for row in rows]
        return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask)}

    def batch_decode(self, ids: Tensor, skip_special_tokens: bool = False) -> list[str]:
        hidden = SPECIAL if skip_special_tokens else ()
        return [" ".join(self.words[i] for i in row if self.words[i] not in hidden) for row in ids.tolist()]


class Bag(Transformer):
    """The mean of the embeddings of the tokens that the mask keeps."""

    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(tokens, width)

    def forward(self, features):
        kept = features["attention_mask"].unsqueeze(-1).to(self.words.weight.dtype)
        total = (self.words(features["input_ids"]) * kept).sum(dim=1)
        return features | {"sentence_embedding": total / kept.sum(dim=1)}


def encoder(words: list[str], width: int) -> SentenceTransformer:
    tokenizer = Words(words)
    return SentenceTransformer(Bag(len(tokenizer.words), width), tokenizer=tokenizer)
