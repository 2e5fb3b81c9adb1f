"""A policy over sequences of words, with a table of logits for each position."""

import torch


class Policy:
    """Words at each position are independent of each other.

    Args:
        length: How many words a completion has.
        words: The size of the vocabulary.
    """

    def __init__(self, length: int, words: int) -> None:
        self.table = torch.zeros(length, words, requires_grad=True)

    def write(self, rows: int, generator: torch.Generator) -> torch.Tensor:
        """Sample completions, (rows, length)."""
        chances = self.table.detach().softmax(dim=-1)
        return torch.multinomial(chances, rows, replacement=True, generator=generator).T

    def logps(self, completions: torch.Tensor) -> torch.Tensor:
        """Compute the log probabilities of the words of completions, (rows, length)."""
        return self.table.log_softmax(dim=-1).expand(len(completions), -1, -1).gather(2, completions[..., None])[..., 0]
