"""Every paper has its dates, and no release is later than the package that a task pins."""

import pytest
from packaging.utils import canonicalize_name
from packaging.version import Version
from tests import core

from lmrbench.tasks.sources.origin import Tree

TASKS = {task.paper.slug: task for task in [*core.TASKS.values(), *core.published()]}


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_paper_has_a_date(task):
    assert task.paper.published


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_method_was_released_with_the_pinned_package_or_before(task):
    files, released = task.files.repository, task.paper.released
    pinned = files.source.package if isinstance(files, Tree) else None
    if pinned and released:
        name, _, version = pinned.partition("==")
        same = canonicalize_name(name) == canonicalize_name(released.package)
        assert not same or Version(released.version) <= Version(version)
