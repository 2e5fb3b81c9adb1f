"""A small policy over a few words, for experiments."""

import torch
from torch import nn


class Policy(nn.Module):
    """Logits of the next word from the last word and from all words before it that the attention mask keeps.

    Further inputs are added to the logits; they are broadcast to (B, L, words).
    """

    def __init__(self, words, dtype=torch.float32, generator=None):
        super().__init__()
        self.config = type("Config", (), {"_name_or_path": "toy/policy"})()
        self.table = nn.Parameter(torch.randn(2, words, words, generator=generator, dtype=torch.float64).to(dtype))

    def forward(self, input_ids, attention_mask, **inputs):
        past = self.table[1][input_ids] * attention_mask.unsqueeze(-1)
        return self.table[0][input_ids] + 0.3 * past.cumsum(1) + sum(inputs.values())

    @torch.no_grad()
    def write(self, prompts, length, generator):
        """Append sampled words to prompts without padding."""
        words = prompts
        for _ in range(length):
            logits = self(words, torch.ones_like(words))[:, -1]
            words = torch.cat([words, torch.multinomial(logits.softmax(-1), 1, generator=generator)], dim=1)
        return words
