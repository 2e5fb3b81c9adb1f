"""How probable does a language model find each token of a text, given those before it?

Asked of a local model of Hugging Face, or of a server that speaks OpenAI's completions and returns the
log-probabilities of a prompt, as vLLM does.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

from lmrbench.errors import SandboxError, ServiceError, UsageError

# The probabilities of a text's tokens from the second one on.
Probabilities = Callable[[str], list[float]]


def of_local_model(name: str, window: int, batch: int, device: str) -> Probabilities:
    """Ask a causal language model.

    Args:
        name: a folder with model and tokenizer, or a name on the hub that is in the local cache or can be fetched.
        window: how many tokens the model sees at once, at most what it was made for. A longer text is read in windows
            that overlap by half, so that each token but the first ones has at least window / 2 before it.
        batch: how many windows are read at once.
        device: as torch names it.

    Raises:
        SandboxError: transformers is not installed.
        UsageError: the model can't be loaded.
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
        raise UsageError(f"{name}: the model can't be loaded: {str(error).splitlines()[0]}") from error
    window = min(window, getattr(model.config, "max_position_embeddings", None) or window)

    def probabilities(text: str) -> list[float]:
        tokens = tokenizer(text, add_special_tokens=False, return_tensors="pt", verbose=False)["input_ids"][0]
        spans = _spans(len(tokens), window)
        found: list[float] = []
        for first in range(0, len(spans), batch):
            chosen = spans[first : first + batch]
            # Windows of one batch are filled up behind their end, which changes nothing of what stands before.
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
    """Ask a server for a prompt with its log-probabilities (`echo`). The key is that of OPENAI_API_KEY, if any.

    The function that is returned raises ServiceError if the server fails or returns none of them.
    """
    from openai import OpenAI, OpenAIError

    client = OpenAI(base_url=url, api_key=os.environ.get("OPENAI_API_KEY") or "none")

    def probabilities(text: str) -> list[float]:
        try:
            answer: Any = client.completions.create(model=model, prompt=text, echo=True, logprobs=1, max_tokens=1)
        except OpenAIError as error:
            raise ServiceError(f"{url}: {error}") from error
        scores = answer.choices[0].logprobs if answer.choices else None
        # A server that does not know `echo` returns its own tokens, which stand behind the prompt.
        pairs = zip(
            getattr(scores, "token_logprobs", None) or (), getattr(scores, "text_offset", None) or (), strict=True
        )
        known = [score for score, offset in pairs if offset < len(text)]
        chances = [math.exp(score) for score in known[1:] if score is not None]
        if not chances:
            raise ServiceError(f"{url}: {model} returns no log-probabilities of a prompt")
        return chances

    return probabilities


def _spans(count: int, window: int) -> list[tuple[int, int, int]]:
    """Windows over `count` tokens: where each begins, from where on its tokens are new, and where it ends."""
    spans, fresh = [], 1
    while fresh < count:
        start = max(0, fresh - max(1, window // 2)) if fresh > 1 else 0
        end = min(count, start + window)
        spans.append((start, fresh, end))
        fresh = end
    return spans
