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
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate, betas=(0.9, 0.95))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, config))
    history = []
    model.train()
    for _ in range(config.steps):
        ids = sample_sentences(facts, tokenizer, generator)
        exits = model(ids[:, :-1], early_exit_layers=layers)
        losses = {layer: _loss(logits, ids[:, 1:]) for layer, logits in exits.items()}
        early = torch.stack([losses[layer] for layer in layers]).sum() / len(layers)
        optimizer.zero_grad()
        (losses[last] + config.early_exit_weight * early).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm)
        optimizer.step()
        schedule.step()
        history.append(losses[last].item())
    model.eval()
    return history


def _rate(step: int, config: TrainingConfig) -> float:
    """Rises over the warm-up, then falls in a line."""
    if step < config.warmup:
        return (step + 1) / config.warmup
    return (config.steps - step) / (config.steps - config.warmup)


def _loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Cross entropy per token."""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())
