"""A verdict on one task is the same whichever other tasks are graded with it."""

import pytest
from tests.graded import graded, graded_run
from tests.toy import RIGHT

from lmrbench.runs.folder import read_facts
from lmrbench.sandbox.pool import LocalPool
from lmrbench.sandbox.registry import make_sandbox
from lmrbench.tasks.loading import load_suite
from lmrbench.tasks.submission import Submission

pytestmark = pytest.mark.sandbox

BORROWS = RIGHT.replace("    factors", "    import scipy\n    factors")


@pytest.fixture
def tasks(two_papers):
    """The toy paper, and another whose check imports a package that the first one's does not."""
    check = two_papers / "other" / "checks" / "blend.py"
    check.write_text(check.read_text().replace("import random\n", "import random\nimport scipy\n"))
    return {task.id: task for task in load_suite(two_papers)}


def test_a_package_that_only_another_task_imports_is_not_there(tasks):
    borrows = Submission(system="me", task="toy/blend", code=BORROWS)
    other = Submission(system="me", task="other/blend", code=BORROWS)
    with LocalPool(make_sandbox("bubblewrap", ()), size=1) as pool:
        (alone,) = graded([borrows], tasks, (0,), pool)
        together = {item.task: item for item in graded([other, borrows], tasks, (0,), pool)}

    assert together["other/blend"].correct
    assert not alone.correct
    assert "No module named 'scipy'" in together["toy/blend"].first_failure.reason
    assert together["toy/blend"].terms == alone.terms
    assert together["other/blend"].environment != alone.environment


def test_the_record_of_a_run_names_the_whole_suite_whatever_was_graded(tasks, tmp_path):
    submissions = [Submission(system="me", task=name, code=RIGHT) for name in tasks]
    with LocalPool(make_sandbox("bubblewrap", ()), size=1) as pool:
        for name, chosen in (("some", submissions[:1]), ("all", submissions)):
            list(graded_run(tmp_path / name, chosen, tasks, (0,), pool))

    some, every = (read_facts(tmp_path / name) for name in ("some", "all"))
    assert some.suite_digest == every.suite_digest
    assert len(some.tasks) < len(every.tasks)
