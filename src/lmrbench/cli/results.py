"""`lmrbench results`: what does the experiment of a reference log?"""

from __future__ import annotations

from typing import Annotated

import typer

from lmrbench.cli.options import SandboxOption, SuiteOption
from lmrbench.cli.terminal import progress, say
from lmrbench.sandbox.protocol import DEFAULT_SANDBOX
from lmrbench.tasks.loading import suite_folder, suite_folders


def results(
    papers: Annotated[list[str], typer.Argument(metavar="PAPER...", help="Papers, such as dpo.")],
    sandbox: SandboxOption = DEFAULT_SANDBOX,
    suite: SuiteOption = None,
) -> None:
    """Write results.json of papers: what run(seed) of the reference's experiment.py returns under the published seeds.

    The experiment runs in a sandbox, on one thread and in double precision. Solvers of the method tier see the file;
    their work is graded under other seeds. `lmrbench audit --tier method` says if it is no longer true.
    """
    from lmrbench.errors import TaskError
    from lmrbench.files import write_whole
    from lmrbench.grading.forging import logged_results
    from lmrbench.sandbox.registry import open_pool
    from lmrbench.tasks.loading import load_suite
    from lmrbench.tasks.tiers.logged import RESULTS

    folder = suite_folder(suite)
    by_paper = {task.paper.slug: task for task in reversed(load_suite(folder))}
    if unknown := [paper for paper in papers if paper not in by_paper]:
        raise TaskError(f"no paper is named {unknown[0]!r}; `lmrbench list` shows them all")
    with open_pool(sandbox, suite_folders(folder), 1) as pool, progress() as bars:
        for paper in bars.track(papers, description="experiments"):
            file = by_paper[paper].folder / RESULTS
            write_whole(file, logged_results(by_paper[paper], pool).encode())
            say(str(file))
