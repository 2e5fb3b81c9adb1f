"""Who works in a workspace: Inspect's own loop, a coding agent by name, or any command line.

An agent that is a program runs inside the sample's sandbox and reaches the model through Inspect's bridge, on its own
loopback, in the protocols of OpenAI, Anthropic and Google. A program that fails before any call of the model succeeded
has not tried: it raises AgentCrashError. After that, what it left is its answer, whatever its exit code.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from importlib import import_module

from inspect_ai.agent import Agent, AgentPrompt, AgentState, agent, react, sandbox_agent_bridge
from inspect_ai.log import transcript
from inspect_ai.model import ChatMessage, GenerateConfig, GenerateFilter, Model
from inspect_ai.tool import ToolChoice, ToolInfo, bash, python, text_editor
from inspect_ai.util import (
    ExecRemoteAwaitableOptions,
    ExecResult,
    LimitExceededError,
    SandboxEnvironment,
    sample_limits,
    sandbox,
    store,
    suspend_working_limit,
)

from lmrbench.errors import SandboxError, UsageError
from lmrbench.models.endings import LIMIT
from lmrbench.solving.attendance import program_ended
from lmrbench.solving.provider import BubblewrapSandboxEnvironment
from lmrbench.solving.session import WORKSPACE
from lmrbench.solving.snapshots import take_snapshot

TOOL_SECONDS = 180
# Of what an agent's program printed, kept in the log.
MOST_CHARACTERS = 20_000
# Of inspect-swe.
NAMED = ("claude_code", "codex_cli", "gemini_cli", "mini_swe_agent")
COMMANDS: Mapping[str, str] = {
    "openhands": "openhands --headless --override-with-envs --file instruction.md",
}
AGENTS = ("react", *NAMED, *COMMANDS)
_PORT = 13131
_BRIDGE = f"http://localhost:{_PORT}"
# Inspect starts the bridge, and does not wait for it.
_BRIDGE_SECONDS = 60
_BRIDGE_LISTENS = f"until (: > /dev/tcp/localhost/{_PORT}) 2>/dev/null; do sleep 0.05; done"
# What agents look for; the bridge serves the model of the run under any name.
_ENVIRONMENT = {
    "OPENAI_BASE_URL": f"{_BRIDGE}/v1",
    "OPENAI_API_BASE": f"{_BRIDGE}/v1",
    "OPENAI_API_KEY": "bridge",
    "ANTHROPIC_BASE_URL": _BRIDGE,
    "ANTHROPIC_API_KEY": "bridge",
    "GOOGLE_GEMINI_BASE_URL": _BRIDGE,
    "GEMINI_API_KEY": "bridge",
    "LLM_BASE_URL": f"{_BRIDGE}/v1",
    "LLM_API_KEY": "bridge",
    "LLM_MODEL": "openai/inspect",
}
_ROLE = "You are a researcher who implements methods of papers in existing code bases."
_ASSISTANT = (
    "Work step by step with the tools: read before you write, run what you wrote, and check it against the paper."
)


def solver_agent(name: str, command: str, turns: int) -> Agent:
    """The agent of that name, or the one that a command line starts, for that many generations of the model.

    Raises UsageError for one that does not exist, SandboxError for one that is not installed.
    """
    if command:
        return command_agent(command, turns)
    if name == "react":
        tools = [bash(timeout=TOOL_SECONDS), python(timeout=TOOL_SECONDS), text_editor(timeout=TOOL_SECONDS)]
        prompt = AgentPrompt(instructions=_ROLE, assistant_prompt=_ASSISTANT)

        async def goes_on(state: AgentState) -> bool:
            await _between_turns(turns)
            return True

        return react(prompt=prompt, tools=tools, on_continue=goes_on)
    if name in COMMANDS:
        return command_agent(COMMANDS[name], turns)
    if name not in NAMED:
        raise UsageError(f"there is no agent {name!r}; there are {', '.join(AGENTS)}, and --agent-command")
    return named_agent(name, turns)


@agent
def command_agent(command: str, turns: int) -> Agent:
    """A command line, run by bash in the workspace until it ends; the task is also on its standard input."""

    async def execute(state: AgentState) -> AgentState:
        prompt = "\n\n".join(message.text for message in state.messages)
        async with AsyncExitStack() as stack:
            # The clock of the agent starts with its program.
            with suspend_working_limit():
                bridge = await stack.enter_async_context(sandbox_agent_bridge(state, filter=_at_most(turns)))
                await _until_the_bridge_listens()
            done = await _done(command, prompt)
            with suspend_working_limit():
                await stack.aclose()
        ends = {"stdout": done.stdout[-MOST_CHARACTERS:], "stderr": done.stderr[-MOST_CHARACTERS:]}
        transcript().info({"command": command, "returncode": done.returncode, **ends}, source="lmrbench")
        program_ended(command, done.returncode, done.stderr)
        return bridge.state

    return execute


async def _done(command: str, prompt: str) -> ExecResult[str]:
    """What a command line printed, and how it ended. prompt: its standard input."""
    words, environment = ["bash", "-c", command], dict(_ENVIRONMENT)
    if isinstance(sandbox().as_type(SandboxEnvironment), BubblewrapSandboxEnvironment):  # type: ignore[type-abstract]
        # Without the seconds that Inspect's own program in the sandbox takes to start another.
        return await sandbox().exec(words, prompt, WORKSPACE, environment, concurrency=False)
    options = ExecRemoteAwaitableOptions(input=prompt, cwd=WORKSPACE, env=environment)
    return await sandbox().exec_remote(words, options, stream=False)


async def _until_the_bridge_listens() -> None:
    try:
        await sandbox().exec(["bash", "-c", _BRIDGE_LISTENS], timeout=_BRIDGE_SECONDS, timeout_retry=False)
    except TimeoutError as error:
        raise SandboxError(f"Inspect's bridge to the model did not listen within {_BRIDGE_SECONDS} s") from error


@agent
def named_agent(name: str, turns: int) -> Agent:
    """An agent of inspect-swe, which raises RuntimeError where its program ends with an error."""
    try:
        named: Agent = getattr(import_module("inspect_swe"), name)(cwd=WORKSPACE, filter=_at_most(turns))
    except ImportError as error:
        raise SandboxError(
            f"the agent {name} needs inspect-swe, which is not installed; pip install 'lmrbench[agents]'"
        ) from error

    async def execute(state: AgentState) -> AgentState:
        try:
            return await named(state)
        except RuntimeError as error:
            if not str(error).startswith("Error executing"):
                raise
            transcript().info({"agent": name, "error": str(error)[-MOST_CHARACTERS:]}, source="lmrbench")
            program_ended(name, 1, str(error))
            return state

    return execute


def _at_most(turns: int) -> GenerateFilter:
    """Comes before each generation that a program asks for, and ends its sample where these are more than that many."""

    async def check(
        model: Model,
        messages: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice | None,
        config: GenerateConfig,
    ) -> None:
        await _between_turns(turns)

    return check


async def _between_turns(turns: int) -> None:
    await take_snapshot()
    if sample_limits().turn.usage >= turns:
        store().set(LIMIT, "turn")
        raise LimitExceededError("turn", value=turns, limit=turns, message=f"{turns} generations were made")
