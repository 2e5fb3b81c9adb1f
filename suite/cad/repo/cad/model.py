"""A log-linear language model: the last token and, with less voice each, all tokens before it vote on the next."""

import torch
from torch import Tensor, nn


class VotingLM(nn.Module):
    """Next-token logits as a sum of votes; order matters for the last token alone.

    Padding has no vote and is no last token, wherever it stands, so rows may be padded on either side.
    """

    def __init__(self, vocabulary: int, pad_id: int, seed: int = 0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.pad_id = pad_id
        self.last = nn.Parameter(0.01 * torch.randn(vocabulary, vocabulary, generator=generator))
        self.earlier = nn.Parameter(0.01 * torch.randn(vocabulary, vocabulary, generator=generator))

    def forward(self, input_ids: Tensor) -> Tensor:
        """Logits of the token after each position: ids of shape (batch, length) give (batch, length, vocabulary)."""
        real = input_ids != self.pad_id
        votes = (self.earlier[input_ids] * real.unsqueeze(-1)).cumsum(dim=1)
        positions = torch.arange(input_ids.shape[1]).expand_as(input_ids)
        last = torch.where(real, positions, 0).cummax(dim=1).values
        return self.last[input_ids.gather(1, last)] + votes
