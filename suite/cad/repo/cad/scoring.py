"""What the model predicts where a given answer stands, word by word, without sampling."""

from collections.abc import Sequence

import torch
from torch import Tensor

from cad.data import Example
from cad.model import VotingLM
from cad.prompts import build_prompt, left_pad
from cad.tokenizer import WordTokenizer


def closed(tokenizer: WordTokenizer, text: str) -> list[int]:
    """The ids of an answer's words and of its end."""
    return [*tokenizer.encode(text), tokenizer.eos_id]


@torch.no_grad()
def answer_logits(
    model: VotingLM, tokenizer: WordTokenizer, examples: Sequence[Example], shown: bool, answers: Sequence[str]
) -> Tensor:
    """Logits at each word of the answers and at each end, (words and ends, vocabulary).

    With `shown`, the prompts hold the documents. Each token is predicted from the given ones before it.
    """
    ends = [closed(tokenizer, text) for text in answers]
    prompts = [build_prompt(tokenizer, item.question, item.document if shown else "") for item in examples]
    rows = left_pad([prompt + end for prompt, end in zip(prompts, ends, strict=True)], tokenizer.pad_id)
    logits = model(rows[:, :-1])
    return torch.cat([row[-len(end) :] for row, end in zip(logits, ends, strict=True)])
