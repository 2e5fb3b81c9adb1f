"""Select the tasks of a suite for a command, and make the forensic tasks among them.

Forensic tasks are not stored. Each is made from a draw, which is a choice of changes to a paper's program.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lmrbench.errors import UsageError
from lmrbench.grading.forging import forged
from lmrbench.progress import Stages
from lmrbench.sandbox.protocol import DEFAULT_SANDBOX
from lmrbench.sandbox.registry import open_pool
from lmrbench.tasks.loading import load_suite, suite_folder, suite_folders
from lmrbench.tasks.model import Paper, Task, Tier
from lmrbench.tasks.selection import gradable, of_answered_tiers, select_with_draws
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.tiers.forensic import Drawn, is_forensic


@dataclass(frozen=True)
class Selection:
    """The tasks of a suite that a command works on.

    Attributes:
        every: All tasks of the suite, and the forensic tasks that were made for the command.
        chosen: The tasks that the command selects.
        suite: The folder of the suite.
    """

    every: tuple[Task, ...]
    chosen: tuple[Task, ...]
    suite: Path

    @property
    def by_id(self) -> dict[str, Task]:
        """All tasks, by id."""
        return {task.id: task for task in self.every}

    @property
    def names(self) -> set[str]:
        """The ids of the chosen tasks."""
        return {task.id for task in self.chosen}

    @property
    def papers(self) -> list[Paper]:
        """The papers of the chosen tasks, each once."""
        return list(dict.fromkeys(task.paper for task in self.chosen))

    def with_checks(self, warn: Callable[[str], None], answered: Collection[str] | None = None) -> Selection:
        """Return the selection, with only those of the chosen tasks that have a check.

        Args:
            warn: Called with a message about the tasks that are left out, if there are any.
            answered: The ids of the tasks with answers. If given, the message names only tasks with answers.

        Raises:
            TaskError: None of the chosen tasks has a check. If `answered` is given, only tasks with answers count.
        """
        _, message = gradable([task for task in self.chosen if answered is None or task.id in answered])
        if message:
            warn(message)
        return Selection(self.every, tuple(task for task in self.chosen if task.files.check), self.suite)

    def with_tiers_of(self, submissions: Iterable[Submission], sandbox: str, stages: Stages) -> Selection:
        """Return a selection of every task of each tier in which at least one task was answered.

        Of the forensic tier, only the answered tasks are selected.

        Args:
            submissions: The answers.
            sandbox: The back end in which the programs of forensic tasks are run.
            stages: Shows the progress of making forensic tasks.
        """
        answered = {item.task for item in submissions}
        drawn = sorted(filter(is_forensic, answered))
        made = _forged(select_with_draws(self.every, drawn)[1] if drawn else (), self.suite, sandbox, stages)
        chosen = (*of_answered_tiers(self.every, answered), *made)
        return Selection((*self.every, *made), chosen, self.suite)

    def with_draws(self, draws: Sequence[Drawn], sandbox: str, stages: Stages) -> Selection:
        """Make the forensic tasks of these draws, and return a selection of them."""
        made = _forged(draws, self.suite, sandbox, stages)
        return Selection((*self.every, *made), made, self.suite)


def select(
    stages: Stages,
    suite: str | Path | None,
    patterns: Iterable[str] | None,
    tier: Tier = "function",
    fresh: int | None = None,
    sandbox: str = DEFAULT_SANDBOX,
    most: int | None = None,
) -> Selection:
    """Load a suite and select tasks of a tier.

    Args:
        stages: Shows the progress of making forensic tasks.
        suite: The suite, in a form that `suite_folder` accepts.
        patterns: Patterns of the tasks to select, as in `lmrbench.tasks.selection.select`.
        tier: The tier (kind of task) that patterns select from. A full task id selects a task of any tier.
        fresh: The seed for drawing new forensic tasks; None for the published draws.
        sandbox: The back end in which the programs of forensic tasks are run to record their logs.
        most: The largest number of forensic tasks to make.

    Raises:
        UsageError: `fresh` is given, but the tier is not forensic.
        TaskError: A pattern selects nothing, or the suite is malformed.
    """
    if fresh is not None and tier != "forensic":
        raise UsageError("--fresh needs --tier forensic")
    folder = suite_folder(suite)
    every = load_suite(folder)
    chosen, draws = select_with_draws(every, patterns or (), tier, fresh)
    made = _forged(draws[:most], folder, sandbox, stages)
    return Selection((*every, *made), (*chosen, *made), folder)


def _forged(draws: Sequence[Drawn], suite: Path, sandbox: str, stages: Stages) -> tuple[Task, ...]:
    if not draws:
        return ()
    made = []
    with open_pool(sandbox, suite_folders(suite)) as pool, stages("forensic tasks", len(draws)) as (finished, advance):
        for task, draw in draws:
            made.append(forged(task, draw, pool, advance))
            finished()
    return tuple(made)
