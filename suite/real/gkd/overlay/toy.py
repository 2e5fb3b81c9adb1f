"""Language models that are tables, and a trainer for two of them."""

from types import SimpleNamespace

import torch
from torch import Tensor, nn
from trl.trainer.gkd_config import GKDConfig
from trl.trainer.gkd_trainer import GKDTrainer

PAD, END = 0, 1


class Table(nn.Module):
    """Logits of the next token by the token before it, a product of two factors: a narrow one holds few tables."""

    def __init__(self, tokens: int, width: int, generator: torch.Generator, size: float = 1.0):
        super().__init__()
        self.left = nn.Parameter(size * torch.randn(tokens, width, generator=generator, dtype=torch.float64))
        self.right = nn.Parameter(size * torch.randn(width, tokens, generator=generator, dtype=torch.float64))

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> SimpleNamespace:
        logits = self.left[input_ids] @ self.right
        # Nobody says the token of padding.
        return SimpleNamespace(logits=logits - 30 * (torch.arange(logits.shape[-1]) == PAD))

    @torch.no_grad()
    def generate(self, input_ids, attention_mask, generation_config, return_dict_in_generate) -> SimpleNamespace:
        """Samples token by token; what comes after the token of the end is padding."""
        tokens, ended = input_ids, torch.zeros(len(input_ids), dtype=torch.bool)
        for _ in range(generation_config.max_new_tokens):
            logits = self(tokens[:, -1:], None).logits[:, -1] / generation_config.temperature
            drawn = torch.multinomial(logits.softmax(-1), 1)[:, 0].masked_fill(ended, PAD)
            tokens = torch.cat((tokens, drawn[:, None]), dim=1)
            ended |= drawn == END
        return SimpleNamespace(sequences=tokens)


def trainer_of(student: Table, teacher: nn.Module, **settings) -> GKDTrainer:
    """A trainer with these settings of its configuration."""
    return GKDTrainer(teacher, GKDConfig(**settings), student, tokenizer=SimpleNamespace(pad_token_id=PAD))
