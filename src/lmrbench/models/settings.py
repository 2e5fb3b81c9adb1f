"""Settings of a run with a model: one record that the command line, Inspect and run.json share.

The options of `lmrbench run` are generated from the fields of `Settings`. `lmrbench/lmr_bench`, the task for the
framework Inspect, takes the fields in `TASK_FIELDS` as arguments. run.json, the file with the facts about a run, stores
the record. This module does not import Inspect.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from pydantic import Field, JsonValue, ValidationError, field_validator

from lmrbench.errors import UsageError
from lmrbench.records import Part
from lmrbench.tasks.model import Form, Inputs

Setting = Literal["prompt", "agent"]
# The experimental conditions: those of lmrbench, or those of the LMR-BENCH paper.
Protocol = Literal["lmrbench", "paper"]
PromptForm = Literal["lmrbench", "paper"]
Session = Literal["task", "paper"]
AgentSandbox = Literal["bubblewrap", "docker"]

# The default maximum length of a prompt in characters, which is about 100,000 tokens.
MOST_CHARACTERS = 400_000
# The protocol of the LMR-BENCH paper (section 4.1, appendix D). The agents in the paper also had network access.
PAPER_PROTOCOL: Mapping[Setting, Mapping[str, Any]] = {
    "prompt": {"inputs": "full", "paper": "json", "prompt_form": "paper", "retrieve": 0, "repairs": 0},
    "agent": {"inputs": "full", "paper": "pdf-file", "session": "paper", "turns": 50, "cost_limit": 4.0},
}
_SECRET = re.compile("key|token|secret|password|credential|header", re.I)


def option(default: Any, description: str, least: float | None = None, **extra: str) -> Any:
    """Return a pydantic field that is also an option on the command line.

    Args:
        default: The default value.
        description: The help text of the option.
        least: The smallest value allowed; None for no bound.
        extra: `flags` and `metavar` for the command line, and `only`, the value of `setting` that the field applies to.
    """
    return Field(default=default, description=description, ge=least, json_schema_extra={"flags": "", **extra})


class Settings(Part):
    """The model or agent of a run, and the conditions under which it solves tasks.

    Fields that apply only to the other value of `setting` must keep their defaults.

    Attributes:
        prices: The model's prices in dollars per million tokens at the time of the run.
    """

    model: str = option(
        "",
        "Model name in Inspect's notation: openai/gpt-5, anthropic/..., vllm/..., ollama/...",
        flags="--model -m",
        metavar="MODEL",
    )
    system: str = option("", "Name in tables and records [default: the model's name].")
    setting: Setting = option("prompt", "prompt: one message, one answer; agent: a workspace and tools.")
    protocol: Protocol = option(
        "lmrbench",
        "Protocol: lmrbench, or paper for the protocol of the LMR-BENCH paper (sets several other options).",
    )
    inputs: Inputs = option(
        "full",
        "Code to show: the repository (full; a prompt shows only part of it), the files that contain the masked "
        "functions (paper+file), or only signatures (paper).",
    )
    paper: Form = option(
        "summary",
        "Form of the paper. All forms but summary need `lmrbench setup papers fetch`. json: the pages of the PDF, for "
        "prompts; pdf-file: the PDF itself, for agents.",
    )
    samples: int = option(1, "Number of answers to each task.", 1)
    max_characters: int = option(
        MOST_CHARACTERS, "Maximum prompt length in characters; the paper is cut first.", 1, only="prompt"
    )
    prompt_form: PromptForm = option(
        "lmrbench", "Form of the prompt: lmrbench, or paper for that of the LMR-BENCH paper.", only="prompt"
    )
    retrieve: int = option(
        0, "Number of further files to show, ranked by BM25 against the instruction and the summary.", 0, only="prompt"
    )
    repairs: int = option(
        0, "Number of further attempts after an answer that can't be inserted into the repository.", 0, only="prompt"
    )
    agent: str = option(
        "react",
        "Agent: react, plan (react after a plan), or an installed program: claude_code (with lmrbench[agents]), "
        "codex_cli, mini_swe_agent, openhands.",
        only="agent",
    )
    agent_command: str = option(
        "",
        "Command line of your own agent, run in the workspace; OPENAI_BASE_URL etc. point to the model.",
        only="agent",
    )
    turns: int = option(50, "Maximum number of model calls per session.", 1, only="agent")
    session: Session = option(
        "task",
        "Scope of one agent session: a single task (task), or all chosen tasks of a paper (paper).",
        only="agent",
    )
    trace_progress: bool = option(
        False,
        "Also grade a snapshot of the workspace after every turn, without the agent's knowledge.",
        flags="--trace-progress",
        only="agent",
    )
    agent_sandbox: AgentSandbox = option("bubblewrap", "Sandbox that agents work in.", only="agent")
    mount: tuple[str, ...] = option(
        (),
        "Folder to mount read-only for the agent's program; repeatable.",
        metavar="DIR",
        only="agent",
    )
    agent_image: str = option(
        "", "Docker image that agents work in; needs --agent-sandbox docker.", metavar="IMAGE", only="agent"
    )
    temperature: float | None = option(None, "Sampling temperature [default: the provider's].", 0)
    max_tokens: int | None = option(None, "Maximum number of tokens per model call.", 1)
    reasoning_effort: str | None = option(None, "Reasoning effort of reasoning models: low, medium or high.")
    token_limit: int | None = option(None, "Maximum number of tokens per task.", 1)
    time_limit: float | None = option(
        None, "Maximum seconds of work per task, not counting the time spent waiting for the provider.", 1
    )
    cost_limit: float | None = option(None, "Maximum cost per task in dollars; needs --prices.", 0)
    model_args: dict[str, JsonValue] = option(
        {}, "Argument for the provider; repeatable.", flags="-M", metavar="KEY=VALUE"
    )
    base_url: str = option("", "URL of the provider's API.")
    connections: int = option(10, "Maximum number of concurrent requests.", 1)
    retries: int = option(7, "Number of retries of a failed call, with exponential backoff.", 0)
    patience: int = option(900, "Seconds until a call that hangs or keeps failing is abandoned.", 1)
    prices: dict[str, float] = Field(default_factory=dict)

    @field_validator("model_args", mode="before")
    @classmethod
    def _parsed(cls, value: object) -> object:
        return dict(map(_key_and_value, value)) if isinstance(value, list | tuple) else value

    @field_validator("mount", mode="before")
    @classmethod
    def _folders(cls, value: object) -> object:
        # Inspect's command line passes a single folder as a string.
        return (value,) if isinstance(value, str) and value else value or ()

    @property
    def name(self) -> str:
        """The system's name in tables and records."""
        return self.system or self.model

    @property
    def conditions(self) -> dict[str, object]:
        """The settings that can affect an answer. They must stay the same when a run is resumed."""
        return self.model_dump(exclude=set(_FREE))

    def generation(self) -> dict[str, Any]:
        """Return the generation settings that have a value, by the names that Inspect uses."""
        return self.model_dump(include={"temperature", "max_tokens", "reasoning_effort"}, exclude_none=True)

    def requests(self) -> dict[str, Any]:
        """Return the limits on requests, by the names that Inspect uses. Times are in seconds."""
        return {
            "max_connections": self.connections,
            "max_retries": self.retries,
            "timeout": self.patience,
            "attempt_timeout": self.patience,
        }

    def recorded(self) -> dict[str, Any]:
        """Return the settings as run.json stores them. Model arguments that may be secret become "not recorded"."""
        safe = {key: "not recorded" if _SECRET.search(key) else value for key, value in self.model_args.items()}
        return self.model_copy(update={"model_args": safe, "system": self.name}).model_dump(mode="json")


# The settings that can't affect an answer.
_FREE = ("base_url", "prices", "connections", "retries", "patience")
# The settings that the Inspect task takes as arguments.
TASK_FIELDS = (
    *("setting", "protocol", "inputs", "paper", "samples", "max_characters", "prompt_form", "retrieve", "repairs"),
    *(
        "agent",
        "agent_command",
        "turns",
        "session",
        "trace_progress",
        "agent_sandbox",
        "mount",
        "agent_image",
        "time_limit",
        "system",
    ),
)


def checked(values: Mapping[str, Any], spelling: str = "--{name} {value}") -> Settings:
    """Validate settings.

    Args:
        values: The settings by name. Missing ones get their defaults.
        spelling: The format of an option and its value in messages.

    Returns:
        The validated settings.

    Raises:
        UsageError: An option is unknown, has an invalid value, or can't be combined with the other options.
    """

    def spelt(name: str, value: object) -> str:
        return spelling.format(name=name.replace("_", "-") if spelling.startswith("--") else name, value=value)

    if unknown := sorted(values.keys() - Settings.model_fields.keys()):
        raise UsageError(f"{spelt(unknown[0], values[unknown[0]])}: no such option")
    values = _with_protocol(values, spelt)
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
            raise UsageError(f"{spelt(name, values[name])} applies only to the {other} setting")
    if settings.paper == ("pdf-file" if settings.setting == "prompt" else "json"):
        raise UsageError(f"{spelt('paper', settings.paper)} applies only to the {other} setting")
    if settings.session == "paper" and settings.trace_progress:
        raise UsageError(f"{spelt('trace_progress', True)} can't be used with sessions of whole papers")
    if settings.session == "paper" and settings.inputs == "paper":
        raise UsageError(
            f"{spelt('inputs', settings.inputs)}: a session of a whole paper needs the files of the repository"
        )
    if settings.retrieve and settings.inputs != "full":
        raise UsageError(
            f"{spelt('retrieve', settings.retrieve)}: no further files can be shown with the inputs {settings.inputs}"
        )
    if settings.agent_command and settings.agent != Settings.model_fields["agent"].default:
        raise UsageError(f"{spelt('agent', settings.agent)} can't be used together with an agent command")
    return settings


def _with_protocol(values: Mapping[str, Any], spelt: Callable[[str, object], str]) -> Mapping[str, Any]:
    """Add the values that the paper's protocol prescribes, if the settings select this protocol.

    Raises:
        UsageError: An option contradicts the protocol.
    """
    setting = values.get("setting", "prompt")
    if values.get("protocol") != "paper" or setting not in PAPER_PROTOCOL:
        return values
    conditions = PAPER_PROTOCOL[setting]
    for name, wanted in conditions.items():
        given = values.get(name, wanted)
        if given not in (wanted, Settings.model_fields[name].default):
            raise UsageError(
                f"{spelt(name, given)}: the paper's protocol requires {wanted}; omit this option or the protocol"
            )
    return {**values, **conditions}


def _key_and_value(text: str) -> tuple[str, JsonValue]:
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise ValueError("must be of the form KEY=VALUE")
    try:
        parsed: JsonValue = json.loads(value)
    except ValueError:
        return key, value
    return key, parsed
