"""The document encoder: one contextual embedding a token (paper, section 3.1, equation 1)."""

import torch
from torch import Tensor, nn


class DocumentEncoder(nn.Module):
    """Embeddings and a bidirectional GRU, in the place of a pre-trained language model."""

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.recur = nn.GRU(width, width // 2, batch_first=True, bidirectional=True)

    def forward(self, tokens: Tensor, markers: Tensor) -> tuple[Tensor, Tensor]:
        """Embeddings of the documents, (batch, width), and of their events, (batch, events, width).

        tokens: (batch, length), [CLS] first; markers: (batch, events), positions of the events' opening markers.
        """
        states, _ = self.recur(self.embed(tokens))
        rows = torch.arange(len(tokens)).unsqueeze(-1)
        return states[:, 0], states[rows, markers]
