"""The rows of a batch while tokens are appended to them: which have ended, and when to stop."""

from collections.abc import Sequence

import torch
from torch import Tensor


class GrowingRows:
    """Prompts that grow by a token a step.

    ids: (batch, length so far), a tensor of its own that begins with the prompts.
    active: (batch,), True for each row that has not ended. A prompt does not end its row, whatever tokens it holds.
    """

    def __init__(self, prompts: Tensor, max_length: int, eos_ids: Sequence[int], pad_id: int) -> None:
        self.ids = prompts.clone()
        self.active = torch.ones(len(prompts), dtype=torch.bool)
        self._max_length = max_length
        self._eos_ids = torch.tensor(list(eos_ids), dtype=torch.long)
        self._pad_id = pad_id

    @property
    def done(self) -> bool:
        """True when every row has ended, or when the rows are as long as they may become."""
        return self.ids.shape[1] >= self._max_length or not bool(self.active.any())

    def append(self, tokens: Tensor) -> None:
        """Append a token to each active row and padding to the others. Makes a new `ids` and a new `active`."""
        tokens = torch.where(self.active, tokens, self._pad_id)
        self.ids = torch.cat([self.ids, tokens.unsqueeze(1)], dim=1)
        self.active = self.active & ~torch.isin(tokens, self._eos_ids)
