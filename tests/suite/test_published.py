"""Certificates of the tasks on published packages; two of the tasks are fetched and graded."""

import pytest
from tests import core
from typer.testing import CliRunner

from lmrbench.authoring.audit.certificate import read_certificate, why_none
from lmrbench.cli import app
from lmrbench.errors import SourceError
from lmrbench.tasks.loading import default_suite, suite_folder
from lmrbench.tasks.sources.fetch import fetch
from lmrbench.tasks.sources.origin import Tree

TASKS = {task.id: task for task in core.published()}


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_full_certificate_holds(task):
    certificate = read_certificate(task)

    assert certificate is not None, (
        f"{task.id} {why_none(task)}: run `lmrbench task audit {task.id} --suite {task.folder.parent.name}`"
    )
    assert certificate.seeds >= 100
    assert certificate.shortfalls == ()


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_nothing_of_a_package_comes_with_the_suite(task):
    assert isinstance(task.files.repository, Tree)
    assert not (task.folder / "repo").exists()


def test_suites_that_come_with_lmrbench_have_names(tmp_path):
    assert suite_folder("core") == suite_folder(None) == default_suite()
    assert suite_folder("real").parent == suite_folder("live").parent == default_suite()
    assert suite_folder(tmp_path) == tmp_path


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize("name", ["bm25_plus/scores", "xtr/scores"])
def test_a_package_is_fetched_as_pip_is_configured_and_its_task_is_graded(name, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    task = TASKS[name]
    assert isinstance(task.files.repository, Tree)
    try:
        fetch(task.files.repository.source)
    except SourceError as error:
        if "no index in pip's configuration has" not in str(error):
            raise
        pytest.skip(f"no package index is within reach: {error}")

    arguments = ["grade", "--golden", "--mask", "--rewrites", "--wrong", "--suite", task.suite.name, "--task", task.id]
    graded = CliRunner().invoke(app, [*arguments, "--workers", "1", "--out", str(tmp_path / "run")])

    assert graded.exit_code == 0, graded.output
