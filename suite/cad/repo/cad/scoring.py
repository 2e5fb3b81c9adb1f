"""What the model thinks of given answers, word by word: probabilities under contrasting runs, without sampling."""

from collections.abc import Sequence

import torch
from torch import Tensor

from cad.data import Example
from cad.model import VotingLM
from cad.prompts import build_prompt, left_pad
from cad.tokenizer import WordTokenizer


@torch.no_grad()
def answer_logits(
    model: VotingLM, tokenizer: WordTokenizer, examples: Sequence[Example], shown: bool, answers: Sequence[str]
) -> Tensor:
    """Logits at each token of an answer and at its end, (batch, tokens, vocabulary); all answers are equally long.

    With `shown`, the prompts hold the documents. Each token is predicted from the given ones before it.
    """
    ends = [[*tokenizer.encode(text), tokenizer.eos_id] for text in answers]
    prompts = [build_prompt(tokenizer, item.question, item.document if shown else "") for item in examples]
    rows = left_pad([prompt + end for prompt, end in zip(prompts, ends, strict=True)], tokenizer.pad_id)
    return model(rows[:, :-1])[:, -len(ends[0]) :]


def mixed(with_document: Tensor, without: Tensor, weights: tuple[float, float]) -> Tensor:
    """Log-probabilities from the weighted sum of both runs' logits."""
    logits = weights[0] * with_document + weights[1] * without
    return logits.log_softmax(dim=-1)


def probabilities(logps: Tensor, tokenizer: WordTokenizer, answers: Sequence[str]) -> Tensor:
    """The probability of each whole answer, its end included, (batch,)."""
    targets = torch.tensor([[*tokenizer.encode(text), tokenizer.eos_id] for text in answers])
    chances = logps.exp().gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return chances.prod(dim=-1)


def entropies(logps: Tensor) -> Tensor:
    """The entropy of each distribution over the vocabulary, (batch, tokens)."""
    return -(logps.exp() * logps.clamp(min=-1e3)).sum(dim=-1)
