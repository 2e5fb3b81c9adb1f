"""What the tests of judges need around them."""

from functools import partial
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from lmrbench import cli
from lmrbench.errors import LmrbenchError
from lmrbench.models import opening


@pytest.fixture(autouse=True)
def each_server_is_asked(monkeypatch):
    """Inspect keeps models, with the address that they had first."""
    monkeypatch.setattr(opening, "get_model", partial(opening.get_model, memoize=False))
    monkeypatch.setenv("LOCAL_API_KEY", "key")


@pytest.fixture
def judge(toy_suite, monkeypatch):
    """Call the command in this process, which has Inspect imported already; errors as the command line prints them."""

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
