"""If the kernel forbids the namespaces of bubblewrap, every command says what to do."""

import json
import os

import anyio
import pytest
from tests.running import lmrbench
from typer.testing import CliRunner

from lmrbench.cli import app, setup
from lmrbench.sandbox.doctor import Diagnosis
from lmrbench.sandbox.registry import PREFERRED
from lmrbench.solving.session import AgentSession, SessionError

SETTING = "kernel.apparmor_restrict_unprivileged_userns"


@pytest.fixture(
    params=[
        "bwrap: setting up uid map: Permission denied",
        "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted",
        "bwrap: No permissions to create new namespace, likely because the kernel does not allow it",
    ]
)
def forbidden(request, tmp_path):
    """A PATH on which bwrap fails as it does where AppArmor restricts it."""
    program = tmp_path / "bin" / "bwrap"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{request.param}' >&2\nexit 1\n")
    program.chmod(0o755)
    return request.param, f"{program.parent}:{os.environ['PATH']}"


def test_doctor_names_the_setting_of_ubuntu(forbidden):
    said, path = forbidden

    result = lmrbench("setup", "doctor", env={**os.environ, "PATH": path})

    # Another back end may work.
    assert result.returncode in (0, 1)
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("bubblewrap: ")]
    assert said in line
    assert SETTING in line
    assert "AppArmor profile" in line


@pytest.mark.parametrize("works", ["another", "process", *PREFERRED])
def test_doctor_fails_if_none_of_the_back_ends_works_that_auto_takes(works, monkeypatch):
    monkeypatch.setattr(setup, "sandbox_names", lambda: ("another", "process", *PREFERRED))
    monkeypatch.setattr(setup, "diagnose", lambda name: Diagnosis(name, name == works))
    assert CliRunner().invoke(app, ["setup", "doctor"]).exit_code == (works not in PREFERRED)


def test_grade_names_the_setting_of_ubuntu_in_one_line(forbidden, toy_suite, tmp_path):
    said, path = forbidden
    answer = {"system": "me", "task": "toy/blend", "code": "def blend(self, values):\n    return 0.0\n"}
    (tmp_path / "answers.jsonl").write_text(json.dumps(answer))

    command = ("grade", "answers.jsonl", "--suite", toy_suite, "--sandbox", "bubblewrap")
    result = lmrbench(*command, env={**os.environ, "PATH": path}, cwd=tmp_path)

    assert result.returncode == 3
    assert said in result.stderr
    assert SETTING in result.stderr
    assert len([line for line in result.stderr.splitlines() if "bwrap" in line]) == 1


def test_an_agents_namespace_names_the_setting_of_ubuntu(forbidden, monkeypatch):
    said, path = forbidden
    monkeypatch.setenv("PATH", path)

    async def main():
        session = AgentSession([])
        try:
            await session.run(["true"])
        finally:
            session.close()

    with pytest.raises(SessionError, match=SETTING) as gone:
        anyio.run(main)
    assert said in str(gone.value)
