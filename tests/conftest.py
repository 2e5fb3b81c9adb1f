"""What many tests share: the toy suite, a warm sandbox for it, and a cache folder that is not the user's."""

import os
from importlib.util import find_spec

import pytest
from tests import toy

from lmrbench.sandbox import registry
from lmrbench.sandbox.registry import open_pool
from lmrbench.tasks.loading import load_suite

# The markers of tests that use these fixtures; further tests bear them by hand. pyproject.toml says what they mean.
MARKERS = {
    "browser": ("browser",),
    "edition": ("slow",),
    "facts": ("slow", "torch"),
    "graded": ("sandbox",),
    "grader": ("sandbox",),
    "pool": ("sandbox",),
    "shared_laboratory": ("sandbox", "torch"),
    "solved": ("sandbox",),
    "tiny_model": ("slow", "torch"),
    "traced": ("sandbox",),
    "worker": ("sandbox",),
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark tests by the fixtures that they use, before `-m` selects among them."""
    for item in items:
        for marker in {marker for name in item.fixturenames for marker in MARKERS.get(name, ())}:
            item.add_marker(marker)
        if item.get_closest_marker("torch") and find_spec("torch") is None:
            item.add_marker(pytest.mark.skip(reason="NOT TESTED: torch is not installed"))


@pytest.fixture(scope="session")
def no_bubblewrap(tmp_path_factory):
    """A folder with a bwrap that fails."""
    program = tmp_path_factory.mktemp("no_bubblewrap") / "bwrap"
    program.write_text("#!/bin/sh\necho 'only tests that are marked sandbox open one' >&2\nexit 1\n")
    program.chmod(0o755)
    return program.parent


@pytest.fixture(autouse=True)
def sandboxes_where_they_are_marked(request, monkeypatch, no_bubblewrap):
    """Fail a test that opens a sandbox and is not marked: `make quick` would need one."""
    if request.node.get_closest_marker("sandbox") is None:
        monkeypatch.setenv("PATH", f"{no_bubblewrap}{os.pathsep}{os.environ['PATH']}")
        # Or else `auto` would take another.
        monkeypatch.setattr(registry, "PREFERRED", ("bubblewrap",))


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Keep golden outputs and the installation's seed out of the user's cache folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
        yield


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
