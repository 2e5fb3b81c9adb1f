"""Log-probabilities of completions, and padding."""

import torch
import torch.nn.functional as F
from torch import Tensor

PAD = 0
IGNORED = -100


def pad(sequences: list[list[int]], prompt_lengths: list[int]) -> tuple[Tensor, Tensor]:
    """Tokens padded on the right, and labels that ignore prompts and padding; both (batch, length)."""
    length = max(len(sequence) for sequence in sequences)
    tokens = torch.full((len(sequences), length), PAD)
    labels = torch.full((len(sequences), length), IGNORED)
    for row, (sequence, prompt) in enumerate(zip(sequences, prompt_lengths, strict=True)):
        tokens[row, : len(sequence)] = torch.tensor(sequence)
        labels[row, prompt : len(sequence)] = torch.tensor(sequence[prompt:])
    return tokens, labels


def completion_logps(logits: Tensor, labels: Tensor, average: bool = False) -> Tensor:
    """Log-probability of each completion, summed (or averaged) over its tokens; (batch,).

    logits: (batch, length, vocabulary); labels: (batch, length), IGNORED where a token is not of the completion.
    """
    targets = labels[:, 1:]
    counted = targets != IGNORED
    tokens = targets.masked_fill(~counted, PAD).unsqueeze(-1)
    logps = F.log_softmax(logits[:, :-1], dim=-1).gather(-1, tokens).squeeze(-1)
    total = (logps * counted).sum(-1)
    return total / counted.sum(-1) if average else total
