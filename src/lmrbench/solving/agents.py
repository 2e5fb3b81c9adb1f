"""Agents that solve tasks in a workspace: Inspect's ReAct agent with or without a plan, coding agents, or any program.

Inspect is the framework through which lmrbench calls models. An agent that is a program runs inside the sandbox of its
sample, which is one attempt at a task. It reaches the model through Inspect's bridge on the sandbox's loopback
interface, with the API of OpenAI, Anthropic or Google. If a program fails before its first model call, AgentCrashError
is raised. If it fails later, the state of the workspace counts as its answer.
"""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from importlib.util import find_spec
from typing import Any

import anyio
from inspect_ai.agent import Agent, AgentPrompt, AgentState, agent, react, sandbox_agent_bridge
from inspect_ai.log import transcript
from inspect_ai.model import (
    ChatMessage,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    GenerateFilter,
    Model,
    get_model,
)
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
from pydantic import JsonValue

from lmrbench.errors import SandboxError, UsageError
from lmrbench.models.endings import LIMIT
from lmrbench.runs.logs import EVENTS
from lmrbench.solving.attendance import program_ended
from lmrbench.solving.programs import PROGRAMS, Program
from lmrbench.solving.provider import BubblewrapSandboxEnvironment
from lmrbench.solving.session import WORKSPACE
from lmrbench.solving.snapshots import read_workspace, take_snapshot

TOOL_SECONDS = 180
# The number of characters of a program's output that are kept in the log, for each stream.
MOST_CHARACTERS = 20_000
# The number of bytes of a program's events that are kept in the log, and the maximum time to read them, in seconds.
_EVENT_BYTES, _EVENT_SECONDS = 8 << 20, 30
AGENTS = ("react", "plan", *PROGRAMS)
_PORT = 13131
_BRIDGE = f"http://localhost:{_PORT}"
# Inspect does not wait until the bridge listens, so a command in the sandbox waits for that.
_BRIDGE_SECONDS = 60
_BRIDGE_LISTENS = f"until (: > /dev/tcp/localhost/{_PORT}) 2>/dev/null; do sleep 0.05; done"
# Environment variables that tell agents where the bridge is. The bridge always uses the model of the run, even if a
# request names another model.
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
    # Without this variable, LiteLLM tries to download a list of prices. Without a network, it takes long to give up.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}
_ROLE = "You are a researcher who implements methods of papers in existing code bases."
_ASSISTANT = (
    "Work step by step with the tools: read before you write, run what you wrote, and check it against the paper."
)
# The workspace files that are copied into the planning prompt.
_PLANNED_FROM = ("instruction.md", "paper.md")
_PLAN = (
    "Before you begin, write a plan. You have no tools yet; these are the files to plan from.\n\n{files}\n\n"
    "Write a numbered list of steps: what to read in the workspace, what to write or change there, which equations or "
    "sections of the paper decide it, and how to check each part. Write no code yet."
)
_EXECUTE = "Now carry out the plan with the tools, step by step. Where it turns out to be wrong, say so and revise it."


def solver_agent(name: str, command: str, turns: int) -> Agent:
    """Return the agent for the given options.

    Args:
        name: one of `AGENTS`; ignored if there is a command.
        command: the command line of an agent, or "".
        turns: the maximum number of model calls.

    Raises:
        UsageError: there is no agent with that name.
        SandboxError: a package that the bridge needs for the agent is not installed.
    """
    if command:
        return program_agent(Program(command=command), turns)
    if name == "react":
        return react_agent(turns)
    if name == "plan":
        return plan_agent(turns)
    if name not in PROGRAMS:
        raise UsageError(f"there is no agent {name!r}; use one of {', '.join(AGENTS)}, or --agent-command")
    if (library := PROGRAMS[name].library) and find_spec(library) is None:
        raise SandboxError(
            f"the agent {name} needs the package {library}, which is not installed; run pip install 'lmrbench[agents]'"
        )
    return program_agent(PROGRAMS[name], turns)


def react_agent(turns: int) -> Agent:
    """Return Inspect's ReAct agent with a shell, Python and a text editor.

    Args:
        turns: the maximum number of model calls.
    """
    tools = [bash(timeout=TOOL_SECONDS), python(timeout=TOOL_SECONDS), text_editor(timeout=TOOL_SECONDS)]
    prompt = AgentPrompt(instructions=_ROLE, assistant_prompt=_ASSISTANT)

    async def goes_on(state: AgentState) -> bool:
        await _between_turns(turns)
        return True

    return react(prompt=prompt, tools=tools, on_continue=goes_on)


@agent
def plan_agent(turns: int) -> Agent:
    """Return an agent that makes a plan, in a call without tools, and then carries it out as `react_agent` would.

    Args:
        turns: the maximum number of model calls, including the call for the plan.
    """
    work = react_agent(turns)

    async def execute(state: AgentState) -> AgentState:
        files = await read_workspace(_PLANNED_FROM)
        texts = (f'<file name="{name}">\n{data.decode("utf-8", "replace")}\n</file>' for name, data in files.items())
        state.messages.append(ChatMessageUser(content=_PLAN.format(files="\n\n".join(texts))))
        # This system message is not kept, because the ReAct agent adds one of its own, which mentions tools.
        state.output = await get_model().generate([ChatMessageSystem(content=_ROLE), *state.messages])
        state.messages += [state.output.message, ChatMessageUser(content=_EXECUTE)]
        await _between_turns(turns)
        return await work(state)

    return execute


@agent
def program_agent(program: Program, turns: int) -> Agent:
    """Return an agent that runs a program in the workspace, with the task's message on standard input.

    Args:
        program: the program to run.
        turns: the maximum number of model calls.
    """

    async def execute(state: AgentState) -> AgentState:
        prompt = "\n\n".join(message.text for message in state.messages)
        async with AsyncExitStack() as stack:
            # Starting the bridge does not count as the agent's working time.
            with suspend_working_limit():
                bridge = await stack.enter_async_context(sandbox_agent_bridge(state, filter=_at_most(turns)))
                await _until_the_bridge_listens()
            try:
                done = await _run_command(program.command, prompt)
            finally:
                await _keep_events(program.events)
            with suspend_working_limit():
                await stack.aclose()
        ends = {"stdout": done.stdout[-MOST_CHARACTERS:], "stderr": done.stderr[-MOST_CHARACTERS:]}
        transcript().info({"command": program.command, "returncode": done.returncode, **ends}, source="lmrbench")
        program_ended(program.command, done.returncode, done.stderr.strip() or done.stdout)
        return bridge.state

    return execute


async def _keep_events(files: str) -> None:
    """Copy the events that a program wrote to files into the log, even if a limit ended the program.

    Args:
        files: a Bash glob for the files; if "", nothing is copied.
    """
    if not files:
        return
    with anyio.move_on_after(_EVENT_SECONDS, shield=True), suspend_working_limit():
        read = f'for file in {files}; do cat "$file"; echo; done | tail -c {_EVENT_BYTES}'
        done = await sandbox().exec(["bash", "-c", read])
        events: list[JsonValue] = [event for line in done.stdout.splitlines() if (event := _object(line))]
        transcript().info(events, source=EVENTS)


def _object(line: str) -> dict[str, Any] | None:
    """Return the JSON object on a line, or None if the line is not a complete object."""
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


async def _run_command(command: str, prompt: str) -> ExecResult[str]:
    """Run a command line with the prompt on its standard input."""
    words, environment = ["bash", "-c", command], dict(_ENVIRONMENT)
    if isinstance(sandbox().as_type(SandboxEnvironment), BubblewrapSandboxEnvironment):  # type: ignore[type-abstract]
        # `exec_remote` would first start one of Inspect's programs in the sandbox, which takes seconds.
        return await sandbox().exec(words, prompt, WORKSPACE, environment, concurrency=False)
    options = ExecRemoteAwaitableOptions(input=prompt, cwd=WORKSPACE, env=environment)
    return await sandbox().exec_remote(words, options, stream=False)


async def _until_the_bridge_listens() -> None:
    try:
        await sandbox().exec(["bash", "-c", _BRIDGE_LISTENS], timeout=_BRIDGE_SECONDS, timeout_retry=False)
    except TimeoutError as error:
        raise SandboxError(f"Inspect's bridge to the model did not start within {_BRIDGE_SECONDS} s") from error


def _at_most(turns: int) -> GenerateFilter:
    """Return a filter that ends the sample before a model call that would exceed the maximum number of turns."""

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
        raise LimitExceededError(
            "turn", value=turns, limit=turns, message=f"the limit on model calls ({turns}) was reached"
        )
