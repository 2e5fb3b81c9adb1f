"""A language model that is one table, and an XPO trainer with a loop of its own."""

from copy import deepcopy
from types import SimpleNamespace

import torch
from torch import Tensor, nn
from trl.trainer.xpo_config import XPOConfig
from trl.trainer.xpo_trainer import XPOTrainer

PAD, END = 0, 1


class Table(nn.Module):
    """Logits of the next token by the token before it."""

    def __init__(self, table: Tensor):
        super().__init__()
        self.table = nn.Parameter(table.clone())

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> SimpleNamespace:
        return SimpleNamespace(logits=self.table[input_ids])

    @torch.no_grad()
    def generate(self, input_ids: Tensor, attention_mask: Tensor, generation_config: SimpleNamespace) -> Tensor:
        """Samples as many new tokens as the configuration says, token by token."""
        for _ in range(generation_config.max_new_tokens):
            probabilities = self.table[input_ids[:, -1]].softmax(-1)
            input_ids = torch.cat((input_ids, torch.multinomial(probabilities, 1)), dim=1)
        return input_ids


class ToyTrainer(XPOTrainer):
    """Trains a table by plain gradient descent; `score(texts, context_length)` is the reward."""

    def __init__(self, model: Table, score, args: XPOConfig, max_new_tokens: int):
        tokenizer = SimpleNamespace(pad_token_id=PAD, eos_token_id=END)
        super().__init__(
            model=model,
            ref_model=deepcopy(model).requires_grad_(False),
            reward_model=score,
            args=args,
            tokenizer=tokenizer,
        )
        self.generation_config = SimpleNamespace(max_new_tokens=max_new_tokens)

    def step(self, prompts: Tensor, rate: float) -> dict[str, float]:
        """One step on texts of model and reference for these prompts."""
        given = {"input_ids": prompts, "attention_mask": torch.ones_like(prompts)}
        length = prompts.shape[1]
        data = self._process_completions(*self._generate_completions(given, self.model), given)
        scores = self._compute_rewards(*data, length)
        logprobs = self._compute_logprobs(self.model, *data, length)
        loss, dpo_losses, xpo_losses = self._compute_losses(*logprobs, scores[0] >= scores[1])
        self.model.zero_grad()
        loss.backward()
        with torch.no_grad():
            self.model.table -= rate * self.model.table.grad
        return {"loss": loss.item(), "dpo": dpo_losses.mean().item(), "xpo": xpo_losses.mean().item()}
