"""Folders for Harbor: what its schema and its linter ask for, and what its verifier does without Harbor and with it."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import PurePosixPath

import pytest
from tests import core

from lmrbench.errors import UsageError
from lmrbench.integrations import harbor
from lmrbench.integrations.harbor import folder_name, write_harbor
from lmrbench.integrations.harbor_verifier import verify
from lmrbench.sandbox.inside.landlock import abi
from lmrbench.sandbox.packages import installed, paths_of
from lmrbench.tasks.loading import load_suite
from lmrbench.tasks.sources.fetch import fetch
from lmrbench.tasks.sources.origin import Source, tree_folder

# A line of the toy suite's answer.
ANSWER = "return self.scale *"
# The program, and a base image for machines that cannot pull those of the tasks; see `make test-harbor`.
HARBOR, BASE = os.environ.get("LMRBENCH_HARBOR"), os.environ.get("LMRBENCH_HARBOR_BASE")
TRIED = ("dpo/preference_loss", "cad/context_aware_sampling", "adalora/svd_linear")
needs_landlock = pytest.mark.skipif(not abi(), reason="NOT TESTED: this kernel has no Landlock")


@pytest.fixture
def blend(tasks, tmp_path):
    """The folder of a task of the toy suite."""
    write_harbor(tasks["toy/blend"], tmp_path / "task")
    return tmp_path / "task"


@pytest.fixture
def workspace(blend, tmp_path):
    """What Harbor's agents find and leave, before they have worked."""
    return shutil.copytree(blend / "environment" / "workspace", tmp_path / "workspace")


def texts_below(folder):
    return {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*") if file.is_file()}


def solve(folder, workspace):
    script = folder / "solution" / "solve.sh"
    script.write_text(script.read_text().replace("/workspace", str(workspace)))
    subprocess.run([script], check=True)
    assert ANSWER in (workspace / "repo" / "blending.py").read_text()


def test_a_folder_for_harbor_has_what_its_schema_wants(tmp_path):
    for task in core.ALL[:3]:
        folder = tmp_path / folder_name(task)
        write_harbor(task, folder)
        facts = tomllib.loads((folder / "task.toml").read_text())
        # Names are org/name, artifacts absolute paths; a verifier of its own is built of tests/Dockerfile.
        assert re.fullmatch(r"[a-zA-Z0-9][\w.-]*/[a-zA-Z0-9][\w.-]*", facts["task"]["name"])
        assert facts["verifier"]["environment_mode"] == "separate"
        assert all(PurePosixPath(path).is_absolute() and ".." not in path for path in facts["artifacts"])
        assert facts["artifacts"] == [f"/workspace/repo/{name}" for name in task.goal_files]
        assert all(type(facts[part]["timeout_sec"]) is int for part in ("agent", "verifier"))
        for name in ("instruction.md", "environment/Dockerfile", "tests/Dockerfile"):
            assert (folder / name).is_file()
        for name in ("tests/test.sh", "solution/solve.sh"):
            assert (folder / name).stat().st_mode & 0o111


def test_images_and_packages_are_pinned_and_no_container_asks_for_a_right(blend):
    for part in ("environment", "tests"):
        lines = (blend / part / "Dockerfile").read_text().splitlines()
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        assert re.fullmatch(rf"ARG BASE=python:{re.escape(python)}\.\d+-slim-\w+@sha256:[0-9a-f]{{64}}", lines[0])
        assert [line for line in lines if line.startswith("FROM ")] == ["FROM ${BASE}"]
        (install,) = [line for line in lines if "install" in line]
        assert install.endswith("-r /tmp/requirements.txt")
        pins = (blend / part / "requirements.txt").read_text().splitlines()
        assert pins
        assert all(re.fullmatch(r"[a-z0-9-]+==\d[\w.]*", line) for line in pins)
    # Compose files are where rights are asked for, and what some environments of Harbor do not take.
    assert not [file for file in blend.rglob("*") if file.name.startswith("docker-compose")]
    assert tomllib.loads((blend / "task.toml").read_text())["agent"]["user"] == "agent"
    assert "RUN useradd --create-home agent" in (blend / "environment" / "Dockerfile").read_text()


def test_the_verifier_has_the_package_that_compares_texts(paper, tmp_path):
    file = paper / "task.toml"
    similar = "similarities = { blended = { threshold = 0.9 } }"
    file.write_text(file.read_text().replace("tolerance =", f"{similar}\ntolerance ="))
    (task,) = load_suite(paper.parent)
    assert task.similarities
    write_harbor(task, tmp_path / "task")
    assert "\nrapidfuzz==" in (tmp_path / "task" / "tests" / "requirements.txt").read_text()
    assert "rapidfuzz" not in (tmp_path / "task" / "environment" / "requirements.txt").read_text()


def test_a_python_without_a_pinned_image_is_one_line(tasks, tmp_path, monkeypatch):
    monkeypatch.setattr(harbor, "_BASES", {"3.1": "python:3.1"})
    with pytest.raises(UsageError, match=r"no base image for Python 3\.\d+; run lmrbench with Python 3\.1 to export"):
        write_harbor(tasks["toy/blend"], tmp_path / "task")
    assert not (tmp_path / "task").exists()


def test_an_agent_of_harbor_sees_no_answer_and_no_check(blend):
    seen = texts_below(blend / "environment")
    seen["instruction.md"] = (blend / "instruction.md").read_text()
    assert "workspace/repo/blending.py" in seen
    assert not any(ANSWER in text or "def cases" in text for text in seen.values())


def verified(folder, workspace, tmp_path):
    logs = tmp_path / "logs"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir()
    passed = verify("toy/blend", folder / "tests" / "suite", workspace, logs)
    assert (logs / "reward.txt").read_text() == f"{int(passed)}\n"
    return passed, json.loads((logs / "grade.json").read_text())


@needs_landlock
@pytest.mark.sandbox
def test_harbors_oracle_gets_one_and_who_does_nothing_zero(blend, workspace, tmp_path):
    passed, grade = verified(blend, workspace, tmp_path)
    assert not passed
    assert grade["sandbox"] == "landlock"
    # Names of cases and reasons would tell a policy of the check.
    assert not any(case.get("reason") for case in grade["cases"])
    solve(blend, workspace)
    assert verified(blend, workspace, tmp_path)[0]


@needs_landlock
@pytest.mark.sandbox
@pytest.mark.parametrize("spoil", ["deleted", "a folder", "not Python", "empty"])
def test_a_workspace_that_can_not_be_used_gets_zero(blend, workspace, tmp_path, spoil):
    goal = workspace / "repo" / "blending.py"
    goal.unlink()
    if spoil == "a folder":
        goal.mkdir()
    elif spoil != "deleted":
        goal.write_text("def (" if spoil == "not Python" else "")
    assert not verified(blend, workspace, tmp_path)[0]


def as_in_its_container(folder, workspace, tmp_path):
    """Run the program of the verifier with what its folder holds and the packages that it requires, and nothing else.

    Returns the finished process, and the folder that it logs to.
    """
    packages = tmp_path / "packages"
    logs = tmp_path / "logs"
    for each in (packages, logs):
        shutil.rmtree(each, ignore_errors=True)
        each.mkdir()
    for pin in (folder / "tests" / "requirements.txt").read_text().split():
        distribution = installed(pin.partition("==")[0])
        assert distribution is not None
        for name, path in paths_of(distribution).items():
            (packages / name).symlink_to(path)
    program = [sys.executable, "-S", "-s", "-P", "-m", "lmrbench.integrations.harbor_verifier"]
    done = subprocess.run(
        [*program, "toy/blend", folder / "tests" / "suite", workspace, logs],
        env={
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": f"{folder / 'tests'}:{packages}",
            "XDG_CACHE_HOME": str(folder / "tests" / "cache"),
        },
        capture_output=True,
        text=True,
    )
    return done, logs


@pytest.fixture
def published(paper, monkeypatch, tmp_path):
    """The folder of the toy suite's task, whose code is published and has been fetched."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    facts = {"archive": "https://example.org/toy.zip", "sha256": "0" * 64, "licence": "MIT", "imports": ()}
    source = Source.model_validate(facts)
    shutil.move(paper / "repo", tree_folder(source))
    table = f'[source]\narchive = "{source.archive}"\nsha256 = "{source.sha256}"\nlicence = "MIT"\nimports = []\n\n'
    file = paper / "task.toml"
    file.write_text(file.read_text().replace("[[task]]", f"{table}[[task]]", 1))
    (task,) = load_suite(paper.parent)
    write_harbor(task, tmp_path / "published")
    return tmp_path / "published"


@needs_landlock
@pytest.mark.sandbox
@pytest.mark.parametrize("form", ["blend", "published"])
def test_the_verifier_needs_its_folder_and_its_requirements_alone(form, request, tmp_path):
    folder = request.getfixturevalue(form)
    workspace = shutil.copytree(folder / "environment" / "workspace", tmp_path / "workspace")
    done, logs = as_in_its_container(folder, workspace, tmp_path)
    assert (done.returncode, (logs / "reward.txt").read_text()) == (0, "0\n"), done.stderr
    solve(folder, workspace)
    done, logs = as_in_its_container(folder, workspace, tmp_path)
    assert (done.returncode, (logs / "reward.txt").read_text()) == (0, "1\n"), done.stderr


@pytest.mark.sandbox
def test_the_script_of_the_verifier_writes_no_reward_where_nothing_can_be_graded(blend, workspace, tmp_path):
    (blend / "tests" / "suite" / "toy" / "task.toml").unlink()
    done, logs = as_in_its_container(blend, workspace, tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("lmrbench: ")
    assert not list(logs.iterdir())


@pytest.mark.docker
@pytest.mark.skipif(not HARBOR, reason="NOT TESTED: Harbor is not installed; see make test-harbor")
def test_harbor_lints_the_folders_and_rewards_its_oracle_alone(tmp_path):
    def run(*command):
        done = subprocess.run([str(HARBOR), *map(str, command)], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    (published,) = [task for task in core.published() if task.id == "gkd/gkd"]
    fetch(published.files.repository.source)
    tasks = [*(core.TASKS[name] for name in TRIED), published]
    folders = [tmp_path / "tasks" / folder_name(task) for task in tasks]
    for task, folder in zip(tasks, folders, strict=True):
        write_harbor(task, folder)
    assert not run("lint", "--select", "ALL", *folders)
    for file in (tmp_path / "tasks").glob("*/*/Dockerfile") if BASE else ():
        file.write_text(re.sub(r"^ARG BASE=.*", f"ARG BASE={BASE}", file.read_text()))
    for agent, reward in (("nop", 0.0), ("oracle", 1.0)):
        run("run", "--yes", "--path", tmp_path / "tasks", "--agent", agent, "--jobs-dir", tmp_path / agent)
        results = [json.loads(file.read_text()) for file in (tmp_path / agent).glob("*/*/result.json")]
        assert {result["task_name"]: result["verifier_result"] for result in results} == {
            f"lmrbench/{folder.name}": {"rewards": {"reward": reward}} for folder in folders
        }
