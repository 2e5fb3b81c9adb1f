"""Probabilities that a language model assigns to the tokens of a text.

The probabilities come from a local Hugging Face model, or from a server (such as vLLM) that offers OpenAI's completions
API and returns the log-probabilities of a prompt.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

from lmrbench.errors import SandboxError, ServiceError, UsageError

# A function that returns the probability of each token of a text except the first, given the tokens before it.
Probabilities = Callable[[str], list[float]]


def of_local_model(name: str, window: int, batch: int, device: str) -> Probabilities:
    """Return a function that computes token probabilities with a local causal language model.

    Args:
        name: A folder with a model and its tokenizer, or the name of a model on the Hugging Face hub.
        window: The largest context in tokens, or the model's own context length if that is shorter. A longer text is
            read in windows that overlap by half, so that each token after the first window still has at least
            window / 2 tokens of context.
        batch: The number of windows per forward pass.
        device: Name of a torch device.

    Raises:
        SandboxError: torch or transformers is not installed.
        UsageError: The model cannot be loaded.
    """
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        raise SandboxError(
            f"a local model needs {error.name}, which is not installed; pip install 'lmrbench[contamination]'"
        ) from error
    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
        model: Any = AutoModelForCausalLM.from_pretrained(name)
        model = model.to(device).eval()
    except (OSError, ValueError, RuntimeError, AssertionError) as error:
        raise UsageError(f"{name}: the model cannot be loaded: {str(error).splitlines()[0]}") from error
    window = min(window, getattr(model.config, "max_position_embeddings", None) or window)

    def probabilities(text: str) -> list[float]:
        tokens = tokenizer(text, add_special_tokens=False, return_tensors="pt", verbose=False)["input_ids"][0]
        spans = _spans(len(tokens), window)
        found: list[float] = []
        for first in range(0, len(spans), batch):
            chosen = spans[first : first + batch]
            # Padding at the end does not change the probabilities of the tokens before it.
            rows = torch.zeros(len(chosen), max(end - start for start, _, end in chosen), dtype=torch.long)
            for row, (start, _, end) in zip(rows, chosen, strict=True):
                row[: end - start] = tokens[start:end]
            with torch.inference_mode():
                logits = model(rows.to(device)).logits.float().cpu()
            for row, scores, (start, fresh, end) in zip(rows, logits, chosen, strict=True):
                places = torch.arange(fresh - start, end - start)
                chances = scores[places - 1].log_softmax(dim=-1)[torch.arange(len(places)), row[places]]
                found += chances.double().exp().tolist()
        return found

    return probabilities


def of_server(url: str, model: str) -> Probabilities:
    """Return a function that requests token probabilities from a server.

    The returned function raises ServiceError if the server fails or returns no log-probabilities of the text.

    Args:
        url: Address of an OpenAI-compatible API.
        model: The server's name for the model.
    """
    from openai import OpenAI, OpenAIError

    client = OpenAI(base_url=url, api_key=os.environ.get("OPENAI_API_KEY") or "none")

    def probabilities(text: str) -> list[float]:
        try:
            answer: Any = client.completions.create(model=model, prompt=text, echo=True, logprobs=1, max_tokens=1)
        except OpenAIError as error:
            raise ServiceError(f"{url}: {error}") from error
        scores = answer.choices[0].logprobs if answer.choices else None
        # A server that ignores `echo` returns only generated tokens, whose offsets are after the end of the prompt.
        pairs = zip(
            getattr(scores, "token_logprobs", None) or (), getattr(scores, "text_offset", None) or (), strict=True
        )
        known = [score for score, offset in pairs if offset < len(text)]
        chances = [math.exp(score) for score in known[1:] if score is not None]
        if not chances:
            raise ServiceError(
                f"{url}: {model} returns no log-probabilities of a prompt; use a server that supports `echo`"
            )
        return chances

    return probabilities


def _spans(count: int, window: int) -> list[tuple[int, int, int]]:
    """Return overlapping windows over `count` tokens.

    Each window is a tuple (start, fresh, end). It contains the tokens from `start` up to, but not including, `end`. Its
    probabilities are used for the tokens from `fresh` on, which no earlier window contains.
    """
    spans, fresh = [], 1
    while fresh < count:
        start = max(0, fresh - max(1, window // 2)) if fresh > 1 else 0
        end = min(count, start + window)
        spans.append((start, fresh, end))
        fresh = end
    return spans
