"""What many tests share: a suite of one task without torch, and a cache folder that is not the user's."""

from pathlib import Path

import pytest

TOY_SUITE = Path(__file__).parent / "toy_suite"


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path_factory):
    """Keep golden outputs and the installation's seed out of the user's cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="session")
def toy_suite():
    """The folder of the toy suite."""
    return TOY_SUITE
