"""Audit the draws of forensic tasks in a suite: the published draws, or new ones.

In a forensic task, a solver finds a few changes to a program by means of its logs. A draw picks these changes from the
pool of possible changes that a paper's folder contains.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lmrbench.grading.forging import AuditedDraw, audited_draws
from lmrbench.progress import Stages
from lmrbench.sandbox.registry import open_pool
from lmrbench.tasks.loading import load_suite, suite_folders
from lmrbench.tasks.selection import select_with_draws


def audit_draws(
    suite: Path, patterns: Iterable[str], fresh: int | None, sandbox: str, workers: int | None, stages: Stages
) -> list[AuditedDraw]:
    """Test whether draws are fair (see `grading.forging`), and compare their logs with one and with two threads.

    Args:
        suite: The folder of the suite.
        patterns: The papers whose draws to audit, or ids of forensic tasks; see `select_with_draws`.
        fresh: The seed of new draws; None for the published ones.
        sandbox: The name of the sandbox in which the programs run.
        workers: The number of workers; None for one per core.
        stages: Shows the progress.

    Returns:
        The results, one for each draw.

    Raises:
        TaskError: A pattern selects nothing, or no fair draw was found for one of the requested numbers of changes.
    """
    _, draws = select_with_draws(load_suite(suite), patterns, "forensic", fresh)
    found = []
    with open_pool(sandbox, suite_folders(suite), workers) as pool, stages("draws", len(draws)) as (finished, advance):
        for item in audited_draws(draws, pool, advance):
            found.append(item)
            finished()
    return found
