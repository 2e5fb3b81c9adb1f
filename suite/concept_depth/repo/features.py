"""What the probes look at: hidden states of texts, batch by batch."""

import numpy as np
from numpy.typing import NDArray

from model import TinyTransformer
from vocabulary import Tokenizer

# Hidden states of some texts, one array a batch, (texts of the batch, 1 + layers, width), in single precision. Place 0
# of the second axis holds the embedding, which is no layer's; the first layer's output stands in place 1. Batches keep
# the order of the texts, and the last may be shorter than the others.
Features = list[NDArray[np.float32]]


def extract_features(model: TinyTransformer, tokenizer: Tokenizer, texts: list[str], batch: int) -> Features:
    """The hidden state of each text in all layers."""
    features: Features = []
    for start in range(0, len(texts), batch):
        ids = np.array(tokenizer.encode(texts[start : start + batch]))
        features.append(np.stack([states[:, -1] for states in model(ids)], axis=1).astype(np.float32))
    return features
