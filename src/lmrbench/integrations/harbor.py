"""Tasks as folders that Harbor runs: an environment for the agent, and a verifier in a separate container.

The agent's container holds the workspace only. The verifier's container is built from `tests/`: lmrbench, bubblewrap
and the paper's folder. Harbor copies the goal files to it, and `harbor_verifier` grades them there.

The format is described at https://www.harborframework.com/docs/tasks, schema 1.4.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

import tomli_w

from lmrbench.errors import SubmissionError, TaskError, UsageError
from lmrbench.integrations.workspace import write_each
from lmrbench.sandbox.packages import versions
from lmrbench.sandbox.venvs import environment_of
from lmrbench.tasks.collect import ANSWER
from lmrbench.tasks.digests import grading_digest
from lmrbench.tasks.foreign import entries, read_foreign
from lmrbench.tasks.model import Inputs, Task
from lmrbench.tasks.sources.origin import Tree
from lmrbench.tasks.workspace import (
    REPO,
    answered_files,
    export_workspace,
    instruction,
    one_text,
    third_party_imports,
)
from lmrbench.version import __version__

WORKSPACE, SUITE = "/workspace", "/tests/suite"
# A verifier may take this many times the limit of the check: the reference runs twice, and an answer may take longer.
_LIMITS_OF_A_VERIFIER = 20
_MOST_OF_A_FILE = 1 << 30
_AGENT_SECONDS, _BUILD_SECONDS = 3600, 3600

_ENVIRONMENT = """\
ARG BASE=python:{python}-slim
FROM ${{BASE}}
# Further options of pip, such as an index with CPU-only builds of torch.
ARG PIP_OPTIONS=
COPY requirements.txt /tmp/requirements.txt
RUN pip install --no-cache-dir ${{PIP_OPTIONS}} -r /tmp/requirements.txt
COPY workspace {workspace}
WORKDIR {workspace}
"""
_VERIFIER = """\
ARG BASE=python:{python}-slim
FROM ${{BASE}}
ARG PIP_OPTIONS=
# A release of lmrbench, or a wheel next to this file, with the same extra.
ARG LMRBENCH='lmrbench{extra}=={version}'
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap && rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir ${{PIP_OPTIONS}} "${{LMRBENCH}}"
COPY . /tests
{fetching}RUN chmod +x /tests/test.sh
"""
_FETCHING = f"RUN lmrbench setup fetch --suite {SUITE} && lmrbench setup env build --suite {SUITE}\n"
# bubblewrap makes namespaces and a /proc of its own, which a container may not do by default.
_RIGHTS = """\
services:
  main:
    cap_add: [SYS_ADMIN, NET_ADMIN, SYS_PTRACE]
    security_opt: ["seccomp:unconfined", "apparmor:unconfined", "systempaths=unconfined"]
"""
_TEST = """\
#!/bin/sh
# Grades what the agent left in {workspace}, under cases that are drawn now. If this machine can't grade, it writes no
# reward, so that the answer does not count as wrong.
mkdir -p /logs/verifier
exec python3 -m lmrbench.integrations.harbor_verifier {task} {suite} {workspace} /logs/verifier
"""
_SOLVE = """\
#!/bin/sh
cp -r "$(dirname "$0")/answer/." {workspace}
"""


def folder_name(task: Task) -> str:
    """Return a task's folder name, such as `dpo__preference_loss`. Harbor needs all tasks in a single folder."""
    return f"{task.paper.slug}__{task.name}"


def write(tasks: Sequence[Task], to: Path, inputs: Inputs) -> Iterator[Path]:
    """Write each task to `to/paper__task`, and yield its folder."""
    return write_each(tasks, to, folder_name, write_harbor, inputs)


def write_harbor(task: Task, folder: Path, inputs: Inputs = "full") -> None:
    """Write a task as a folder for `harbor run -p FOLDER`.

    Harbor's oracle gets a reward of 1, and an agent that does nothing a reward of 0.

    Args:
        task: a task of any tier but `forensic`.
        folder: a new or empty folder.
        inputs: the view of the code that the agent gets.

    Raises:
        UsageError: the folder is not empty, or the task is forensic and thus drawn on the machine that grades.
        SandboxError: the packages of the task are not installed.
    """
    if task.tier == "forensic":
        raise UsageError(f"{task.id}: forensic tasks are drawn where they are graded, and can't be written for Harbor")
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder}: is not empty; a task of Harbor needs a folder of its own")
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    fetched = isinstance(task.files.repository, Tree)
    asked = f"{instruction(task, inputs)}\nThe files that are named here lie in `{WORKSPACE}`.\n"
    texts = {
        "instruction.md": asked,
        "task.toml": _configuration(task, inputs),
        "environment/Dockerfile": _ENVIRONMENT.format(python=python, workspace=WORKSPACE),
        "environment/requirements.txt": _requirements(task),
        "tests/Dockerfile": _VERIFIER.format(
            python=python,
            version=__version__,
            extra="[real]" if fetched else "[suite]",
            fetching=_FETCHING if fetched else "",
        ),
        "tests/docker-compose.yaml": _RIGHTS,
        "tests/test.sh": _TEST.format(workspace=WORKSPACE, task=task.id, suite=SUITE),
        "solution/solve.sh": _SOLVE.format(workspace=WORKSPACE),
    }
    for name, text in texts.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        if file.suffix == ".sh":
            file.chmod(0o755)
    export_workspace(task, folder / "environment" / "workspace", inputs)
    _write_suite(task, folder / "tests" / "suite")
    _write_answer(task, folder / "solution" / "answer", inputs)


def _requirements(task: Task) -> str:
    """Return the installed versions of the task's packages, for the containers of the agent and of the verifier."""
    found = versions(third_party_imports(task), environment_of(task.paper.requirements))
    return "".join(f"{name}=={version.partition('+')[0]}\n" for name, version in found.items())


def _configuration(task: Task, inputs: Inputs) -> str:
    carried = [ANSWER] if inputs == "paper" else [f"{REPO}/{name}" for name in task.goal_files]
    memory = task.limits.memory_mb + 4096
    return tomli_w.dumps(
        {
            "schema_version": "1.4",
            "artifacts": [f"{WORKSPACE}/{name}" for name in carried],
            "task": {
                "name": f"lmrbench/{folder_name(task)}",
                "description": f"Reproduce functions of: {task.paper.title}",
                "keywords": [task.category, task.tier],
            },
            "metadata": {
                "id": task.id,
                "paper": str(task.paper.url),
                "targets": list(map(str, task.targets)),
                "digest": grading_digest(task),
                "other_tiers": task.other_tiers,
            },
            "agent": {"timeout_sec": _AGENT_SECONDS},
            "environment": {"build_timeout_sec": _BUILD_SECONDS, "memory_mb": memory},
            "verifier": {
                "timeout_sec": round(_LIMITS_OF_A_VERIFIER * task.limits.seconds),
                "environment_mode": "separate",
                "environment": {
                    "build_timeout_sec": _BUILD_SECONDS,
                    "memory_mb": memory,
                    "network_mode": "no-network",
                },
            },
        }
    )


def _write_suite(task: Task, folder: Path) -> None:
    """Write a suite of this paper only. Raises TaskError for links and other files that are not regular."""
    suite = task.folder.parent
    wanted = [f"{task.folder.name}/{name}" for name in _regular(task.folder) if not fnmatch(name, "certificate*.json")]
    for name in [*wanted, *(["suite.toml"] if (suite / "suite.toml").exists() else [])]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(_read(suite, name))


def _regular(folder: Path) -> Iterator[str]:
    for name, problem in entries(folder):
        if problem:
            raise TaskError(f"{folder / name}: {problem}")
        yield name


def _read(suite: Path, name: str) -> bytes:
    try:
        return read_foreign(suite, name, _MOST_OF_A_FILE) or b""
    except SubmissionError as error:
        raise TaskError(f"{suite}: {error}") from error


def _write_answer(task: Task, folder: Path, inputs: Inputs) -> None:
    answered = answered_files(task)
    files = {f"{REPO}/{name}": answered[name] for name in task.goal_files}
    if inputs == "paper":
        files = {ANSWER: one_text(answered, task).encode()}
    for name, data in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
