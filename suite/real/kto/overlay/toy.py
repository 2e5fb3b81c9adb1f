"""A language model that is one table, batches for it, and a KTO trainer with a loop of its own."""

from types import SimpleNamespace

import torch
from accelerate import Accelerator
from torch import Tensor, nn
from trl.models import create_reference_model
from trl.trainer.kto_config import KTOConfig
from trl.trainer.kto_trainer import KTOTrainer, _get_kl_dataset


class Table(nn.Module):
    """The next token's logits depend on the token before it and on the first token of the prompt."""

    def __init__(self, tokens: int):
        super().__init__()
        self.before = nn.Parameter(torch.zeros(tokens, tokens, dtype=torch.float64))
        self.first = nn.Parameter(torch.zeros(tokens, tokens, dtype=torch.float64))

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> SimpleNamespace:
        return SimpleNamespace(logits=self.before[input_ids] + self.first[input_ids[:, :1]])


def batch_of(prompts: list[list[int]], answers: list[list[int]], desirable: list[bool], pad: int = 0) -> dict:
    """A padded batch with its own completions and with those of `_get_kl_dataset`, under names that begin with KL_."""
    own = {"answer_input_ids": answers, "answer_attention_mask": [[1] * len(answer) for answer in answers]}
    batch = {"label": desirable}
    for prefix, columns in (("", own), ("KL_", _get_kl_dataset(dict(own)))):
        rows = [prompt + answer for prompt, answer in zip(prompts, columns["answer_input_ids"], strict=True)]
        length = max(map(len, rows))
        lengths = [len(row) for row in rows]
        batch[f"{prefix}completion_input_ids"] = torch.tensor([row + [pad] * (length - len(row)) for row in rows])
        mask = (torch.arange(length) < torch.tensor(lengths)[:, None]).long()
        batch[f"{prefix}completion_attention_mask"] = mask
        answered = mask.bool() & (torch.arange(length) >= torch.tensor([len(item) for item in prompts])[:, None])
        batch[f"{prefix}completion_labels"] = batch[f"{prefix}completion_input_ids"].where(answered, -100)
    return batch


class ToyTrainer(KTOTrainer):
    """The settings that the methods read, from a configuration; no dataset and no tokenizer."""

    def __init__(self, model: nn.Module, args: KTOConfig):
        self.model, self.ref_model = model, create_reference_model(model)
        self.accelerator = Accelerator()
        self.beta, self.loss_type = args.beta, args.loss_type
        self.desirable_weight, self.undesirable_weight = args.desirable_weight, args.undesirable_weight
        self.label_pad_token_id = args.label_pad_token_id
        self.calculate_KL = args.loss_type == "kto"
        self.is_encoder_decoder = self.aux_loss_enabled = False

    def step(self, batch: dict, rate: float) -> dict[str, float]:
        """One step of plain gradient descent; returns what the trainer logs, and the loss."""
        loss, metrics = self.get_batch_loss_metrics(self.model, batch)
        self.model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter -= rate * parameter.grad
        return metrics | {"loss": loss.item()}
