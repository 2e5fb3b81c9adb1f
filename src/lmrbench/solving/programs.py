"""Coding agents that are programs installed from PyPI or npm, with their command lines."""

from __future__ import annotations

from collections.abc import Mapping

from lmrbench.records import Record


class Program(Record):
    """A coding agent that runs as a program in the sandbox.

    Attributes:
        command: Its command line for Bash. It receives the task's message on standard input.
        events: A Bash glob for the files to which the program writes its events, one JSON object per file.
        library: The Python package for the protocol that the program speaks, or "" if none is needed. Inspect's bridge,
            which passes the program's requests on to the model, imports this package.
    """

    command: str
    events: str = ""
    library: str = ""


PROGRAMS: Mapping[str, Program] = {
    "claude_code": Program(
        # As root, Claude Code refuses to skip permission prompts unless IS_SANDBOX is set.
        command="DISABLE_AUTOUPDATER=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 IS_SANDBOX=1"
        " claude --print --dangerously-skip-permissions",
        library="anthropic",
    ),
    "codex_cli": Program(
        # Codex offers plain tools to a model that it does not know, such as `inspect`. It would ask a model that it
        # knows to write programs that call tools.
        command="codex exec --model inspect --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox"
        " -c model_provider=bridge -c model_providers.bridge.name=bridge"
        ' -c model_providers.bridge.base_url="$OPENAI_BASE_URL" -c model_providers.bridge.env_key=OPENAI_API_KEY -',
    ),
    "mini_swe_agent": Program(
        # PYTHONPATH contains the packages of the task. It is cleared for the agent and restored for its commands.
        command="MSWEA_CONFIGURED=1 MSWEA_SILENT_STARTUP=1 MSWEA_COST_TRACKING=ignore_errors PYTHONPATH="
        ' mini --yolo --exit-immediately --cost-limit 0 --model openai/inspect --task "$(cat)"'
        ' --config mini.yaml --config environment.env.PYTHONPATH="$PYTHONPATH"',
    ),
    "openhands": Program(
        command='OPENHANDS_SUPPRESS_BANNER=1 openhands --headless --override-with-envs --task "$(cat)"',
        events="~/.openhands/conversations/*/events/*.json",
    ),
}
