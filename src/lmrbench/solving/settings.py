"""Under what settings is a model asked? One record says it, for every way to ask.

The options of `lmrbench run` are made from these fields, `lmrbench/lmr_bench` takes those in `TASK_FIELDS`
as arguments of Inspect's task, and run.json holds the record. Nothing here needs Inspect.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, JsonValue, ValidationError, field_validator

from lmrbench.errors import UsageError
from lmrbench.records import Part
from lmrbench.tasks.model import Inputs

Setting = Literal["prompt", "agent"]
Form = Literal["summary", "pdf", "latex"]
AgentSandbox = Literal["bubblewrap", "docker"]

# About a hundred thousand tokens.
MOST_CHARACTERS = 400_000
_SECRET = re.compile("key|token|secret|password|credential|header", re.I)


def _option(default: Any, description: str, least: float | None = None, **extra: str) -> Any:
    """A field. extra: `flags` of the command line, `metavar`, and the `only` setting that it is for."""
    return Field(default=default, description=description, ge=least, json_schema_extra={"flags": "", **extra})


class Settings(Part):
    """Who is asked, and how. What applies to one setting alone keeps its default in the other.

    prices: dollars per million tokens of the model, as known when it was asked.
    """

    model: str = _option(
        "",
        "As Inspect names it: openai/gpt-5, anthropic/..., vllm/..., ollama/...",
        flags="--model -m",
        metavar="MODEL",
    )
    system: str = _option("", "The name in tables and records; the model's if not given.")
    setting: Setting = _option("prompt", "prompt: one message, one answer. agent: a workspace and tools.")
    inputs: Inputs = _option("full", "What is shown: full (repository), paper+file (the goal file), or paper alone.")
    paper: Form = _option("summary", "The form of the paper; pdf and latex after `lmrbench setup papers fetch`.")
    samples: int = _option(1, "Answers to each task.", 1)
    max_characters: int = _option(MOST_CHARACTERS, "The longest prompt; the paper is cut first.", 1, only="prompt")
    retrieve: int = _option(
        0, "Show this many more files, those that match instruction and summary best.", 0, only="prompt"
    )
    repairs: int = _option(0, "Turns to mend an answer that can't be put into the repository.", 0, only="prompt")
    agent: str = _option(
        "react",
        "react, openhands, or, with lmrbench[agents], claude_code, codex_cli, gemini_cli, mini_swe_agent.",
        only="agent",
    )
    agent_command: str = _option(
        "",
        "Any agent: a command line, run in the workspace; OPENAI_BASE_URL and the like lead to the model.",
        only="agent",
    )
    turns: int = _option(50, "The most generations for a task.", 1, only="agent")
    trace_progress: bool = _option(
        False,
        "Grade what the workspace holds after every turn, too; the agent does not notice.",
        flags="--trace-progress",
        only="agent",
    )
    agent_sandbox: AgentSandbox = _option("bubblewrap", "Where agents work.", only="agent")
    mount: tuple[str, ...] = _option(
        (),
        "A folder that the agent's program needs, to be read there; may be repeated.",
        metavar="DIR",
        only="agent",
    )
    temperature: float | None = _option(None, "The provider's default if not given.", 0)
    max_tokens: int | None = _option(None, "The most tokens of one generation.", 1)
    reasoning_effort: str | None = _option(None, "low, medium, high: for models that reason.")
    token_limit: int | None = _option(None, "The most tokens for a task.", 1)
    time_limit: float | None = _option(
        None, "The most seconds of work for a task; waiting for the provider does not count.", 1
    )
    cost_limit: float | None = _option(None, "The most dollars for a task; needs --prices.", 0)
    model_args: dict[str, JsonValue] = _option({}, "Passed to the provider.", flags="-M", metavar="KEY=VALUE")
    base_url: str = _option("", "The address of the provider's API.")
    connections: int = _option(10, "Requests at once.", 1)
    retries: int = _option(7, "How often a failed call is tried again, with growing waits.", 0)
    patience: int = _option(900, "Seconds after which a call that does not answer, or only fails, is given up.", 1)
    prices: dict[str, float] = Field(default_factory=dict)

    @field_validator("model_args", mode="before")
    @classmethod
    def _parsed(cls, value: object) -> object:
        return dict(map(_key_and_value, value)) if isinstance(value, list | tuple) else value

    @field_validator("mount", mode="before")
    @classmethod
    def _folders(cls, value: object) -> object:
        # Inspect's command line gives one text for one folder.
        return (value,) if isinstance(value, str) and value else value or ()

    @property
    def name(self) -> str:
        """The system, as tables and records name it."""
        return self.system or self.model

    @property
    def conditions(self) -> dict[str, object]:
        """What a run must keep to when it is resumed. Addresses, prices and patience change no answer."""
        return self.model_dump(exclude=set(_FREE))

    def generation(self) -> dict[str, Any]:
        """The model's own settings, as Inspect names them, where they are given."""
        return self.model_dump(include={"temperature", "max_tokens", "reasoning_effort"}, exclude_none=True)

    def requests(self) -> dict[str, Any]:
        """How many requests are made at once, and when one is given up, as Inspect names it; times are seconds."""
        return {
            "max_connections": self.connections,
            "max_retries": self.retries,
            "timeout": self.patience,
            "attempt_timeout": self.patience,
        }

    def recorded(self) -> dict[str, Any]:
        """The record for run.json, without what may be secret."""
        safe = {key: "not recorded" if _SECRET.search(key) else value for key, value in self.model_args.items()}
        return self.model_copy(update={"model_args": safe, "system": self.name}).model_dump(mode="json")


_FREE = ("base_url", "prices", "connections", "retries", "patience")
TASK_FIELDS = (
    *("setting", "inputs", "paper", "samples", "max_characters", "retrieve", "repairs", "agent", "agent_command"),
    *("turns", "trace_progress", "agent_sandbox", "mount", "time_limit", "system"),
)


def checked(values: Mapping[str, Any], spelling: str = "--{name} {value}") -> Settings:
    """The settings of these values. Raises UsageError, naming the option, for one that is wrong or out of place.

    spelling: how messages write an option with its value.
    """

    def spelt(name: str, value: object) -> str:
        return spelling.format(name=name.replace("_", "-") if spelling.startswith("--") else name, value=value)

    if unknown := sorted(values.keys() - Settings.model_fields.keys()):
        raise UsageError(f"{spelt(unknown[0], values[unknown[0]])}: there is no such option")
    try:
        settings = Settings.model_validate(dict(values))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0])
        message = first["msg"].removeprefix("Value error, ").replace("Input should", "must")
        raise UsageError(f"{spelt(name, values[name])}: {message}") from error
    other = "agent" if settings.setting == "prompt" else "prompt"
    for name, field in Settings.model_fields.items():
        extra, value = field.json_schema_extra, getattr(settings, name)
        if isinstance(extra, dict) and extra.get("only") == other and value != field.default:
            raise UsageError(f"{spelt(name, values[name])}: is for the {other} setting")
    if settings.retrieve and settings.inputs != "full":
        raise UsageError(f"{spelt('retrieve', settings.retrieve)}: {settings.inputs} shows no other files")
    if settings.agent_command and settings.agent != Settings.model_fields["agent"].default:
        raise UsageError(f"{spelt('agent', settings.agent)}: can't be used together with an agent command")
    return settings


def _key_and_value(text: str) -> tuple[str, JsonValue]:
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise ValueError("must be of the form KEY=VALUE")
    try:
        parsed: JsonValue = json.loads(value)
    except ValueError:
        return key, value
    return key, parsed
