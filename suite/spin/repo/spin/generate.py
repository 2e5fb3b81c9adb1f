"""Responses sampled from a model."""

import torch
from torch import Generator

from spin.alignment.data import END
from spin.alignment.model import TinyLM


@torch.no_grad()
def generate(model: TinyLM, prompts: list[list[int]], generator: Generator, longest: int = 4) -> list[list[int]]:
    """A response to each prompt, of at most `longest` tokens with its END; the prompts are of one length.

    A response that has not ended by then is cut, and gets END in the place of its last token.
    """
    tokens = torch.tensor(prompts)
    start = tokens.shape[1]
    for _ in range(longest - 1):
        probabilities = model(tokens)[:, -1].softmax(-1)
        tokens = torch.cat([tokens, torch.multinomial(probabilities, 1, generator=generator)], dim=1)
    return [_until_end(row) for row in tokens[:, start:].tolist()]


def _until_end(response: list[int]) -> list[int]:
    return response[: response.index(END) + 1] if END in response else [*response, END]
