"""A language model that is one table, padded batches of pairs for it, and an ORPO trainer with a loop of its own."""

from types import SimpleNamespace

import torch
from accelerate import Accelerator
from torch import Tensor, nn
from trl.trainer.orpo_config import ORPOConfig
from trl.trainer.orpo_trainer import ORPOTrainer


class Table(nn.Module):
    """The next token's logits depend on the token before it and on the first token."""

    config = SimpleNamespace()

    def __init__(self, tokens: int):
        super().__init__()
        self.before = nn.Parameter(torch.zeros(tokens, tokens, dtype=torch.float64))
        self.first = nn.Parameter(torch.zeros(tokens, tokens, dtype=torch.float64))

    def forward(self, input_ids: Tensor, attention_mask: Tensor, use_cache: bool = True) -> SimpleNamespace:
        return SimpleNamespace(logits=self.before[input_ids] + self.first[input_ids[:, :1]])


def batch_of(prompts: list[list[int]], chosen: list[list[int]], rejected: list[list[int]]) -> dict[str, Tensor]:
    """A padded batch, with labels of -100 where there is a prompt or padding."""
    batch = {}
    for name, answers in (("chosen", chosen), ("rejected", rejected)):
        rows = [prompt + answer for prompt, answer in zip(prompts, answers, strict=True)]
        lengths, starts = torch.tensor([len(row) for row in rows]), torch.tensor([len(prompt) for prompt in prompts])
        places = torch.arange(int(lengths.max()))
        ids = torch.tensor([row + [0] * (len(places) - len(row)) for row in rows])
        mask = places < lengths[:, None]
        batch[f"{name}_input_ids"], batch[f"{name}_attention_mask"] = ids, mask.long()
        batch[f"{name}_labels"] = ids.where(mask & (places >= starts[:, None]), -100)
    return batch


class ToyTrainer(ORPOTrainer):
    """The settings that the methods read, from a configuration; no dataset and no tokenizer."""

    def __init__(self, model: nn.Module, args: ORPOConfig):
        self.model, self.accelerator = model, Accelerator()
        self.beta, self.label_pad_token_id, self.padding_value = args.beta, args.label_pad_token_id, 0
        self.is_encoder_decoder = self.aux_loss_enabled = False

    def step(self, batch: dict[str, Tensor], rate: float) -> dict[str, float]:
        """One step of plain gradient descent; returns what the trainer logs."""
        loss, metrics = self.get_batch_loss_metrics(self.model, batch)
        self.model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter -= rate * parameter.grad
        return metrics
