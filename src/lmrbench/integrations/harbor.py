"""Export tasks as folders for Harbor, a framework that runs an agent and a verifier in separate containers.

The agent's container has only the workspace. The verifier's container is built from `tests/`, which contains the
grading modules of the installed lmrbench, the paper's folder, and the published code that the task uses. Harbor copies
the goal files, which contain the functions to write, to the verifier's container. There, `harbor_verifier` grades them
in a Landlock sandbox, which works in a container without extra privileges.

The format is described at https://www.harborframework.com/docs/tasks; this module writes version 1.4 of its schema.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path

import tomli_w
from packaging.utils import canonicalize_name

from lmrbench.errors import SubmissionError, TaskError, UsageError
from lmrbench.files import cache_folder
from lmrbench.integrations.workspace import write_each
from lmrbench.sandbox.packages import comparing_imports, versions
from lmrbench.sandbox.venvs import environment_of
from lmrbench.tasks.collect import ANSWER
from lmrbench.tasks.digests import grading_digest
from lmrbench.tasks.foreign import entries, read_foreign
from lmrbench.tasks.model import Inputs, Task
from lmrbench.tasks.sources.origin import Tree, tree_folder
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
# The verifier's timeout, as a multiple of the time that the check takes on the reference. It must cover two runs of
# the reference and one run of the answer, which may be slower.
_LIMITS_OF_A_VERIFIER = 20
_MOST_OF_A_FILE = 1 << 30
_AGENT_SECONDS, _BUILD_SECONDS = 3600, 3600
# The base image for each version of Python. The digests are those of multi-platform images.
_BASES = {
    "3.11": "python:3.11.16-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b",
    "3.12": "python:3.12.14-slim-bookworm@sha256:782412e85d0f0984994c290652577d4018aff08145c85b262bb63dc0c7522254",
    "3.13": "python:3.13.15-slim-bookworm@sha256:2325bb286ec344af3e5898cc224b5844e2707ac6e26b1632516fd3edc84a5e26",
}
# The parts of lmrbench that a verifier needs, as glob patterns, and the packages that they import.
_GRADING = (
    "[!_]*.py",
    "__init__.py",
    "source",
    "tasks",
    "sandbox",
    "grading",
    "integrations/__init__.py",
    "integrations/harbor_verifier.py",
)
_GRADING_IMPORTS = ("numpy", "packaging", "platformdirs", "pydantic", "safetensors", "unidiff")

_IMAGE = """\
ARG BASE={base}
FROM ${{BASE}}
# Extra options for pip, such as an index with CPU-only builds of torch.
ARG PIP_OPTIONS=
COPY requirements.txt /tmp/requirements.txt
RUN pip install --no-cache-dir ${{PIP_OPTIONS}} -r /tmp/requirements.txt
"""
_ENVIRONMENT = """\
RUN useradd --create-home {user}
COPY --chown={user} workspace {workspace}
WORKDIR {workspace}
"""
_VERIFIER = """\
COPY . /tests
# Candidates run as another user, who must be able to read the worker program. The umask at the time of the export may
# have made it unreadable.
RUN chmod -R a+rX /tests
ENV PYTHONPATH=/tests XDG_CACHE_HOME=/tests/cache
"""
_USER = "agent"
_TEST = """\
#!/bin/sh
# Grades the files that the agent left in {workspace}, on freshly drawn cases. If this machine can't grade, no reward is
# written, so that the answer does not count as wrong.
mkdir -p /logs/verifier
exec python3 -m lmrbench.integrations.harbor_verifier {task} {suite} {workspace} /logs/verifier
"""
_SOLVE = """\
#!/bin/sh
cp -r "$(dirname "$0")/answer/." {workspace}
"""


def folder_name(task: Task) -> str:
    """Return a task's folder name, such as `dpo__preference_loss`.

    The name contains the paper, because Harbor expects all tasks in one folder.
    """
    return f"{task.paper.slug}__{task.name}"


def write(tasks: Sequence[Task], to: Path, inputs: Inputs) -> Iterator[Path]:
    """Write each task to `to/paper__task`, and yield its folder."""
    return write_each(tasks, to, folder_name, write_harbor, inputs)


def write_harbor(task: Task, folder: Path, inputs: Inputs = "full") -> None:
    """Write a task as a folder for `harbor run -p FOLDER`.

    Harbor's oracle agent, which runs `solution/solve.sh`, gets a reward of 1. An agent that changes nothing gets 0.

    Args:
        task: a task of any tier (kind of task) except `forensic`.
        folder: a new or empty folder.
        inputs: the files that the agent gets: `full`, `paper+file` or `paper`.

    Raises:
        UsageError: the folder is not empty, the task is forensic, or there is no base image for this version of Python.
        SandboxError: the packages of the task are not installed.
    """
    if task.tier == "forensic":
        raise UsageError(
            f"{task.id}: forensic tasks are generated on demand and can't be exported; choose another tier"
        )
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty; a Harbor task needs a folder of its own")
    image = _IMAGE.format(base=_base())
    graded_with = (*_GRADING_IMPORTS, *comparing_imports(task))
    pins = _canonical(versions(third_party_imports(task), environment_of(task.paper.requirements)))
    asked = f"{instruction(task, inputs)}\nThe files named above are in `{WORKSPACE}`.\n"
    texts = {
        "instruction.md": asked,
        "task.toml": _configuration(task, inputs),
        "environment/Dockerfile": image + _ENVIRONMENT.format(user=_USER, workspace=WORKSPACE),
        "environment/requirements.txt": _requirements(pins),
        "tests/Dockerfile": image + _VERIFIER,
        # If lmrbench and the task use different versions of a package, the task's version is installed.
        "tests/requirements.txt": _requirements({**_canonical(versions(graded_with)), **pins}),
        "tests/test.sh": _TEST.format(workspace=WORKSPACE, task=task.id, suite=SUITE),
        "solution/solve.sh": _SOLVE.format(workspace=WORKSPACE),
    }
    for name, text in texts.items():
        _put(folder / name, text.encode())
        if name.endswith(".sh"):
            (folder / name).chmod(0o755)
    export_workspace(task, folder / "environment" / "workspace", inputs)
    _write_suite(task, folder / "tests" / "suite")
    _write_source(task, folder / "tests" / "cache")
    _write_lmrbench(folder / "tests" / "lmrbench")
    _write_answer(task, folder / "solution" / "answer", inputs)


def _base() -> str:
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    if python not in _BASES:
        raise UsageError(
            f"no base image for Python {python}; run lmrbench with Python {' or '.join(_BASES)} to export to Harbor"
        )
    return _BASES[python]


def _canonical(found: Mapping[str, str]) -> dict[str, str]:
    """Return the versions of packages, by canonical package name."""
    return {canonicalize_name(name): version for name, version in found.items()}


def _requirements(pins: Mapping[str, str]) -> str:
    """Return the text of a requirements.txt."""
    # Local version labels, such as +cpu for a build without CUDA, are dropped, because PyPI has no such versions.
    return "".join(f"{name}=={version.partition('+')[0]}\n" for name, version in sorted(pins.items()))


def _configuration(task: Task, inputs: Inputs) -> str:
    carried = [ANSWER] if inputs == "paper" else [f"{REPO}/{name}" for name in task.goal_files]
    memory = task.limits.memory_mb + 4096
    return tomli_w.dumps(
        {
            "schema_version": "1.4",
            "artifacts": [f"{WORKSPACE}/{name}" for name in carried],
            "task": {
                "name": f"lmrbench/{folder_name(task)}",
                "description": f'Implement functions from the paper "{task.paper.title}"',
                "keywords": [task.category, task.tier],
            },
            "metadata": {
                "id": task.id,
                "paper": str(task.paper.url),
                "targets": list(map(str, task.targets)),
                "digest": grading_digest(task),
                "other_tiers": task.other_tiers,
                "lmrbench": __version__,
            },
            "agent": {"timeout_sec": _AGENT_SECONDS, "user": _USER},
            "environment": {"build_timeout_sec": _BUILD_SECONDS, "memory_mb": memory},
            "verifier": {
                "timeout_sec": round(_LIMITS_OF_A_VERIFIER * task.limits.seconds),
                "environment_mode": "separate",
                "environment": {"build_timeout_sec": _BUILD_SECONDS, "memory_mb": memory},
            },
        }
    )


def _write_suite(task: Task, folder: Path) -> None:
    """Write a suite that contains only the task's paper. Raises TaskError for links and other special files."""
    suite = task.folder.parent
    wanted = [f"{task.folder.name}/{name}" for name in _regular(task.folder) if not fnmatch(name, "certificate*.json")]
    for name in [*wanted, *(["suite.toml"] if (suite / "suite.toml").exists() else [])]:
        _put(folder / name, _read(suite, name))


def _write_source(task: Task, folder: Path) -> None:
    """If a task uses published code, write it to a cache folder, at the path that `lmrbench setup fetch` uses."""
    repository = task.files.repository
    if isinstance(repository, Tree):
        place = folder / tree_folder(repository.source).relative_to(cache_folder().parent)
        for name, file in repository.places.items():
            _put(place / name, file.read_bytes())


def _write_lmrbench(folder: Path) -> None:
    """Write lmrbench's grading modules, so that the verifier grades with this version without installing lmrbench."""
    package = Path(__file__).resolve().parents[1]
    for found in (path for pattern in _GRADING for path in package.glob(pattern)):
        for file in sorted(found.rglob("*.py")) if found.is_dir() else [found]:
            _put(folder / file.relative_to(package), file.read_bytes())


def _put(file: Path, data: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


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
        _put(folder / name, data)
