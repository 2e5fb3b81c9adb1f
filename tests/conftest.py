"""What many tests share: the toy suite, a warm sandbox for it, and a cache folder that is not the user's."""

import pytest
from tests import toy

from lmrbench.sandbox.registry import open_pool
from lmrbench.tasks.loading import load_suite


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path_factory):
    """Keep golden outputs and the installation's seed out of the user's cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="session")
def toy_suite():
    """The folder of the toy suite."""
    return toy.FOLDER


@pytest.fixture(scope="session")
def tasks(toy_suite):
    """The tasks of the toy suite by id."""
    return {task.id: task for task in load_suite(toy_suite)}


@pytest.fixture
def suite(tmp_path):
    """A copy of the toy suite, to change."""
    return toy.copy_to(tmp_path / "suite")


@pytest.fixture
def paper(suite):
    """The paper of a copy of the toy suite, to change."""
    return suite / "toy"


@pytest.fixture
def two_papers(suite):
    """A suite of two papers with one task each."""
    toy.add_paper(suite)
    return suite


@pytest.fixture(scope="session")
def pool(toy_suite):
    """One warm worker in a bubblewrap sandbox, which sees nothing of the toy suite."""
    with open_pool("bubblewrap", [toy_suite], 1) as pool:
        yield pool
