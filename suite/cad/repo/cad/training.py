"""Teaches the model its facts by question and answer, and to read documents by a smaller number of others."""

from collections.abc import Sequence

import torch
from torch.nn import functional as F

from cad.data import Example
from cad.model import VotingLM
from cad.prompts import build_prompt, left_pad
from cad.tokenizer import WordTokenizer


def train(
    model: VotingLM,
    tokenizer: WordTokenizer,
    facts: Sequence[Example],
    readings: Sequence[Example],
    steps: int = 35,
    learning_rate: float = 0.05,
    reading_weight: float = 0.01,
) -> None:
    """Full-batch training on the answers' tokens; `readings` show their documents and count less than `facts`."""
    rows, answers = [], []
    for examples, shown in ((facts, False), (readings, True)):
        for example in examples:
            answers.append([*tokenizer.encode(example.answer), tokenizer.eos_id])
            rows.append(build_prompt(tokenizer, example.question, example.document if shown else "") + answers[-1])
    ids = left_pad(rows, tokenizer.pad_id)
    targets = torch.tensor(answers)
    weights = torch.tensor([1.0] * len(facts) + [reading_weight] * len(readings)).unsqueeze(1)
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    for _ in range(steps):
        # Prompts are padded at their start, so the answers end every row.
        logits = model(ids[:, :-1])[:, -targets.shape[1] :]
        losses = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
        optimizer.zero_grad()
        (losses * weights).mean().backward()
        optimizer.step()
