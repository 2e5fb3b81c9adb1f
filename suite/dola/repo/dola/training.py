"""Trains the model on sentences that are drawn anew for each step."""

import torch
from torch import Generator, Tensor
from torch.nn import functional as F

from dola.config import TrainingConfig
from dola.data import Fact, sample_sentences
from dola.model import EarlyExitLM
from dola.tokenizer import WordTokenizer


def train(
    model: EarlyExitLM, tokenizer: WordTokenizer, facts: list[Fact], config: TrainingConfig, generator: Generator
) -> list[float]:
    """Train in place; the model is left in evaluation mode. Returns the loss of the last layer before each step."""
    last = model.config.num_layers
    layers = range(last + 1)
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.95), fused=True)
    history = []
    model.train()
    for step in range(config.steps):
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * _rate(step, config)
        ids = sample_sentences(facts, tokenizer, generator)
        exits = model(ids[:, :-1], early_exit_layers=layers)
        losses = _losses(torch.stack([exits[layer] for layer in layers]), ids[:, 1:])
        optimizer.zero_grad()
        (losses[last] + config.early_exit_weight * losses.mean()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm)
        optimizer.step()
        history.append(losses[last].item())
    model.eval()
    return history


def _rate(step: int, config: TrainingConfig) -> float:
    """The learning rate of a step, as a share of that of the configuration."""
    if step < config.warmup:
        return (step + 1) / config.warmup
    return (config.steps - step) / (config.steps - config.warmup)


def _losses(logits: Tensor, targets: Tensor) -> Tensor:
    """Cross entropy per token, of each layer. logits: (layers, batch, length, vocabulary)."""
    targets = targets.expand(len(logits), -1, -1)
    return F.cross_entropy(logits.permute(0, 3, 1, 2), targets, reduction="none").mean(dim=(1, 2))
