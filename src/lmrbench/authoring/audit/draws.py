"""Audit forensic draws of a suite: the published ones, or new ones."""

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
    """Try forensic draws: whether they are fair, and what two threads change.

    Args:
        suite: The folder of the suite.
        patterns: The papers to try, or ids of forensic tasks; see `select_with_draws`.
        fresh: The seed of new draws; None for the published ones.
        sandbox: The sandbox that the programs run in.
        workers: The number of workers; one per core if None.
        stages: Shows the progress.

    Raises:
        TaskError: A pattern selects nothing, or no draw of some size is fair.
    """
    _, draws = select_with_draws(load_suite(suite), patterns, "forensic", fresh)
    found = []
    with open_pool(sandbox, suite_folders(suite), workers) as pool, stages("draws", len(draws)) as (finished, advance):
        for item in audited_draws(draws, pool, advance):
            found.append(item)
            finished()
    return found
