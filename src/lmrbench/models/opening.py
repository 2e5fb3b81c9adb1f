"""Opening a model: its provider, its prices, and its address."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from inspect_ai._util.error import PrerequisiteError  # inspect-evals-lint: ignore[private_api_imports] -- no other
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

# Of an error of Inspect that names what is missing.
_MOST_LINES = 3
# Each price, and what it is where it is not named.
_PRICES = {"input": "input", "output": "output", "input_cache_read": "input", "input_cache_write": "input"}


def set_prices(file: Path, model: str) -> dict[str, float]:
    """Make known what models cost: a JSON object from model to dollars per million tokens; the prices of `model`.

    Each names `input` and `output`, and may name `input_cache_read` and `input_cache_write`, which cost as much as
    `input` otherwise. Raises RecordError, naming the model, for a file that is not of this form.
    """
    known: dict[str, dict[str, float]] = {}
    try:
        table = json.loads(file.read_text("utf-8"))
        for name, prices in table.items():
            if unknown := prices.keys() - _PRICES.keys():
                raise ValueError(f"{name}: {min(unknown)}: unknown; there are {', '.join(_PRICES)}")
            known[name] = {kind: float(prices.get(kind, prices[default])) for kind, default in _PRICES.items()}
            info = get_model_info(name) or ModelInfo()
            set_model_info(name, info.model_copy(update={"cost": ModelCost(**known[name])}))
    except KeyError as error:
        raise RecordError(f"{file}: {name}: {error.args[0]} is missing") from error
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise RecordError(f"{file}: {error}") from error
    return known.get(model, {})


def open_model(settings: Settings) -> Model:
    """The model to ask. Raises UsageError, with the provider's reason, where it can't be set up."""
    given: dict[str, Any] = dict(settings.model_args)
    try:
        return get_model(
            settings.model,
            config=GenerateConfig(**settings.generation()),
            base_url=settings.base_url or None,
            **given,
        )
    except Exception as error:
        # Each provider raises what it likes: a missing package, key or address, an argument it does not know.
        raise UsageError(f"the model {settings.model} can't be asked: {reason_of(error)}") from error


def address(model: Model) -> str:
    """Where a model's provider is reached, without user names, passwords and queries; "" where it is not known."""
    parts = urlsplit(str(model.api.base_url or ""))
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def input_tokens(usage: ModelUsage) -> int:
    """All tokens that were read, from a provider's cache or not."""
    return usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)


def reason_of(error: BaseException) -> str:
    """What an error of Inspect or of a provider says, in one line and without markup."""
    text = str(error) or repr(error)
    if isinstance(error, PrerequisiteError):
        # What comes after the first lines is what the docker command says of its use.
        lines = [line for line in Text.from_markup(str(error.message)).plain.splitlines() if line.strip()]
        text = " ".join(lines[:_MOST_LINES])
    return " ".join(text.split()).removeprefix("ERROR: ")
