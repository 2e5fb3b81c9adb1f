"""Decoding with a context whose part in the prediction is amplified."""

from collections.abc import Sequence

import torch
from torch import Generator, Tensor

from cad.model import VotingLM
from cad.prompts import build_prompt, left_pad
from cad.tokenizer import WordTokenizer


@torch.no_grad()
def context_aware_sampling(
    model: VotingLM,
    tokenizer: WordTokenizer,
    input_ids: Tensor,
    context_ids: Tensor,
    alpha: float,
    max_length: int,
    temperature: float,
    generator: Generator | None = None,
) -> Tensor:
    """Generate continuations of prompts by context-aware decoding.

    model: gives next-token logits, as `VotingLM` does.
    input_ids: (batch, length), prompts with their contexts, as `build_prompt` and `left_pad` make them.
    context_ids: (batch, context length), the contexts alone, padded at their start; a row may be all padding.
    alpha: level of the adjustment.
    max_length: the most tokens to generate.
    temperature: divides the adjusted logits before sampling; 0 is greedy decoding.
    generator: source of the random draws; None for PyTorch's global one.

    Returns the generated ids alone, (batch, generated length), padded after each row's end token.
    """
    with_context = [[i for i in row if i != tokenizer.pad_id] for row in input_ids.tolist()]
    lengths = (context_ids != tokenizer.pad_id).sum(dim=1).tolist()
    prompt = left_pad(with_context, tokenizer.pad_id)
    bare = left_pad(
        [row[:1] + row[1 + length :] for row, length in zip(with_context, lengths, strict=True)], tokenizer.pad_id
    )
    generated = prompt[:, :0]
    ended = torch.zeros(len(prompt), dtype=torch.bool)
    while generated.shape[1] < max_length and not ended.all():
        conditioned = model(torch.cat([prompt, generated], dim=1))[:, -1].double()
        prior = model(torch.cat([bare, generated], dim=1))[:, -1].double()
        logits = (1 + alpha) * conditioned - alpha * prior
        if temperature == 0:
            chosen = logits.argmax(dim=-1)
        else:
            probabilities = (logits / temperature).softmax(dim=-1)
            chosen = torch.multinomial(probabilities, 1, generator=generator).squeeze(1)
        chosen = chosen.masked_fill(ended, tokenizer.pad_id)
        generated = torch.cat([generated, chosen.unsqueeze(1)], dim=1)
        ended = ended | (chosen == tokenizer.eos_id)
    return generated


def answer(
    model: VotingLM,
    tokenizer: WordTokenizer,
    questions: Sequence[str],
    contexts: Sequence[str],
    alpha: float,
    temperature: float = 0.0,
    generator: Generator | None = None,
) -> list[str]:
    """Answer each question in the light of its context, in at most four words."""
    prompts = [build_prompt(tokenizer, *pair) for pair in zip(questions, contexts, strict=True)]
    input_ids = left_pad(prompts, tokenizer.pad_id)
    context_ids = left_pad([tokenizer.encode(context) for context in contexts], tokenizer.pad_id)
    ids = context_aware_sampling(model, tokenizer, input_ids, context_ids, alpha, 4, temperature, generator)
    return [tokenizer.decode(row) for row in ids.tolist()]
