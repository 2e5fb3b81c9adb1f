"""Who works in a workspace: Inspect's own loop, a coding agent by name, or any command line.

An agent that is a program runs inside the sample's sandbox and reaches the model through Inspect's bridge, on its own
loopback, in the protocols of OpenAI, Anthropic and Google.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from inspect_ai.agent import Agent, AgentPrompt, AgentState, agent, react, sandbox_agent_bridge
from inspect_ai.log import transcript
from inspect_ai.tool import bash, python, text_editor
from inspect_ai.util import ExecRemoteAwaitableOptions, sandbox

from lmrbench.errors import LmrbenchError
from lmrbench.solving.session import WORKSPACE

TOOL_SECONDS = 180
# Of what an agent's program printed, kept in the log.
MOST_CHARACTERS = 20_000
# Of inspect-swe.
NAMED = ("claude_code", "codex_cli", "gemini_cli", "mini_swe_agent")
COMMANDS: Mapping[str, str] = {
    "openhands": "openhands --headless --override-with-envs --file instruction.md",
}
AGENTS = ("react", *NAMED, *COMMANDS)
_BRIDGE = "http://localhost:13131"
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


def solver_agent(name: str, command: str) -> Agent:
    """The agent of that name, or the one that a command line starts. Raises LmrbenchError for one that isn't there."""
    if command:
        return command_agent(command)
    if name == "react":
        tools = [bash(timeout=TOOL_SECONDS), python(timeout=TOOL_SECONDS), text_editor(timeout=TOOL_SECONDS)]
        return react(prompt=AgentPrompt(instructions=_ROLE, assistant_prompt=_ASSISTANT), tools=tools)
    if name in COMMANDS:
        return command_agent(COMMANDS[name])
    if name not in NAMED:
        raise LmrbenchError(f"there is no agent {name!r}; there are {', '.join(AGENTS)}, and --agent-command")
    try:
        named: Agent = getattr(import_module("inspect_swe"), name)(cwd=WORKSPACE)
    except ImportError as error:
        raise LmrbenchError(f"the agent {name} needs inspect-swe: pip install 'lmrbench[agents]'") from error
    return named


@agent
def command_agent(command: str) -> Agent:
    """A command line, run by bash in the workspace until it ends; the task is also on its standard input."""

    async def execute(state: AgentState) -> AgentState:
        prompt = "\n\n".join(message.text for message in state.messages)
        async with sandbox_agent_bridge(state) as bridge:
            options = ExecRemoteAwaitableOptions(input=prompt, cwd=WORKSPACE, env=dict(_ENVIRONMENT))
            done = await sandbox().exec_remote(["bash", "-c", command], options, stream=False)
        ends = {"stdout": done.stdout[-MOST_CHARACTERS:], "stderr": done.stderr[-MOST_CHARACTERS:]}
        transcript().info({"command": command, "returncode": done.returncode, **ends}, source="lmrbench")
        return bridge.state

    return execute
