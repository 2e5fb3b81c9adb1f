"""Open models through Inspect, the framework that calls their providers, and register their prices."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from inspect_ai._util.error import PrerequisiteError  # inspect-evals-lint: ignore[private_api_imports] -- not public
from inspect_ai.model import (
    GenerateConfig,
    Model,
    ModelCost,
    ModelInfo,
    ModelUsage,
    get_model,
    get_model_info,
    set_model_info,
)
from rich.text import Text

from lmrbench.errors import RecordError, UsageError
from lmrbench.models.settings import Settings
from lmrbench.text import did_you_mean

# The names of providers to suggest if a name is misspelt.
_PROVIDERS = (
    *("openai", "anthropic", "google", "mistral", "grok", "groq", "deepseek", "together", "openrouter"),
    *("azureai", "bedrock", "ollama", "vllm", "sglang", "hf", "openai-api"),
)
# The number of lines to keep from an Inspect error about a missing requirement.
_MOST_LINES = 3
# The kinds of prices. If a price is missing, the price of the kind on the right is used.
_PRICES = {"input": "input", "output": "output", "input_cache_read": "input", "input_cache_write": "input"}


def set_prices(file: Path, model: str) -> dict[str, float]:
    """Register the prices of models with Inspect.

    Args:
        file: A file with a JSON object that maps each model to its prices in dollars per million tokens: `input`,
            `output` and optionally `input_cache_read` and `input_cache_write`, which default to the price of `input`.
        model: The model whose prices are returned.

    Returns:
        The prices of `model`, by kind; empty if the file does not list the model.

    Raises:
        RecordError: The file can't be read or is malformed.
    """
    known: dict[str, dict[str, float]] = {}
    try:
        table = json.loads(file.read_text("utf-8"))
        for name, prices in table.items():
            if unknown := prices.keys() - _PRICES.keys():
                raise ValueError(f"{name}: {min(unknown)}: unknown kind of price; use {', '.join(_PRICES)}")
            known[name] = {kind: float(prices.get(kind, prices[default])) for kind, default in _PRICES.items()}
            info = get_model_info(name) or ModelInfo()
            set_model_info(name, info.model_copy(update={"cost": ModelCost(**known[name])}))
    except KeyError as error:
        raise RecordError(f"{file}: {name}: {error.args[0]} is missing") from error
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise RecordError(f"{file}: {error}") from error
    return known.get(model, {})


def open_model(settings: Settings) -> Model:
    """Open the model named in the settings.

    Raises:
        UsageError: The model can't be set up; the message gives the provider's reason.
    """
    given: dict[str, Any] = dict(settings.model_args)
    try:
        return get_model(
            settings.model,
            config=GenerateConfig(**settings.generation()),
            base_url=settings.base_url or None,
            **given,
        )
    except Exception as error:
        # Providers raise errors of many types for a missing package, key or address, or an unknown argument.
        reason = f"the model {settings.model} can't be opened: {reason_of(error).rstrip('.')}"
        raise UsageError(f"{reason}{_advice(settings.model, reason)}") from error


def _advice(model: str, reason: str) -> str:
    """Return advice to the user on the most frequent errors of providers, or "" for other errors."""
    provider, named, _ = model.partition("/")
    if not named:
        return (
            f"; add a provider, for example openai/{model}, or openai-api/local/{model} for a local server (--base-url)"
        )
    if key := re.search(r"\b[A-Z_]+_API_KEY\b", reason):
        return f"; set it with export {key[0]}=..."
    if "not recognized" in reason:
        return did_you_mean(provider, _PROVIDERS)
    return ""


def address(model: Model) -> str:
    """Return the URL of a model's provider without credentials and query, or "" if the URL is not known."""
    parts = urlsplit(str(model.api.base_url or ""))
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def input_tokens(usage: ModelUsage) -> int:
    """Return the number of input tokens, including those read from or written to the provider's cache."""
    return usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)


def reason_of(error: BaseException) -> str:
    """Return the message of an error from Inspect or a provider, on one line and without markup."""
    text = str(error) or repr(error)
    if isinstance(error, PrerequisiteError):
        # The lines after the first few are the usage text of the docker command.
        lines = [line for line in Text.from_markup(str(error.message)).plain.splitlines() if line.strip()]
        text = " ".join(lines[:_MOST_LINES])
    return " ".join(text.split()).removeprefix("ERROR: ")
