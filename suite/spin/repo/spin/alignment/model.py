"""A causal language model that is small enough to train in a fraction of a second."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from spin.alignment.data import IGNORED, PAD, WORDS


class TinyLM(nn.Module):
    """Embeddings of the last few tokens, a hidden layer and an output layer: position t predicts token t + 1."""

    def __init__(self, vocabulary: int = len(WORDS), width: int = 12, window: int = 6, hidden: int = 24) -> None:
        super().__init__()
        self.window = window
        self.embed = nn.Embedding(vocabulary, width)
        self.hidden = nn.Linear(width * window, hidden)
        self.head = nn.Linear(hidden, vocabulary)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits of shape (batch, length, vocabulary) for tokens of shape (batch, length)."""
        embedded = F.pad(self.embed(tokens), (0, 0, self.window - 1, 0))
        windows = embedded.unfold(1, self.window, 1).flatten(2)
        return self.head(torch.tanh(self.hidden(windows)))


def build_model(seed: int) -> TinyLM:
    """A model in double precision whose weights depend on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return TinyLM().double()


def response_logps(model: TinyLM, tokens: Tensor, labels: Tensor) -> Tensor:
    """Log-probability of each response given its prompt; (batch,) from tokens and labels of (batch, length)."""
    targets = labels[:, 1:]
    of_response = targets != IGNORED
    chosen = targets.masked_fill(~of_response, PAD).unsqueeze(-1)
    logps = F.log_softmax(model(tokens)[:, :-1], dim=-1).gather(-1, chosen).squeeze(-1)
    return (logps * of_response).sum(-1)
