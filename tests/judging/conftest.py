"""Fixtures of the tests of judges."""

from functools import partial
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from lmrbench import cli
from lmrbench.errors import LmrbenchError
from lmrbench.models import opening


@pytest.fixture(autouse=True)
def each_server_is_asked(monkeypatch):
    """Clear Inspect's cache of models, which keep the address of their first use."""
    monkeypatch.setattr(opening, "get_model", partial(opening.get_model, memoize=False))
    monkeypatch.setenv("LOCAL_API_KEY", "key")


@pytest.fixture
def judge(toy_suite, monkeypatch):
    """Run the command in this process, which saves importing Inspect; errors are printed as by the command line."""

    def call(base, folder, *arguments):
        monkeypatch.setenv("LOCAL_BASE_URL", base)
        options = ("--suite", toy_suite, "--retries", 0, "--patience", 30, *arguments)
        result = CliRunner().invoke(cli.app, ["judge", *map(str, (folder, *options))])
        error = result.exception
        if error is None or isinstance(error, SystemExit):
            return SimpleNamespace(returncode=result.exit_code, stdout=result.stdout, stderr=result.stderr)
        if not isinstance(error, LmrbenchError):
            raise error
        return SimpleNamespace(returncode=error.exit_code, stdout=result.stdout, stderr=f"lmrbench: {error}")

    return call
