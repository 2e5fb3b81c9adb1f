"""The program of Harbor's verifier: grade a workspace under fresh cases, and write the reward.

`python -m lmrbench.integrations.harbor_verifier TASK SUITE WORKSPACE LOGS` writes `reward.txt`, 1 or 0, and
`grade.json`, the grade without names and reasons of cases. If this machine can't grade, the program exits with 1 and
writes no reward.
"""

from __future__ import annotations

import sys
from pathlib import Path

from lmrbench.errors import LmrbenchError, SubmissionError
from lmrbench.grading.grader import grade
from lmrbench.grading.reading import collect_workspace
from lmrbench.grading.reference import fresh_seed
from lmrbench.sandbox.protocol import DEFAULT_SANDBOX
from lmrbench.sandbox.registry import open_pool
from lmrbench.tasks.loading import load_suite
from lmrbench.tasks.submission import Submission

SYSTEM = "agent"


def verify(task_id: str, suite: Path, workspace: Path, logs: Path) -> bool:
    """Grade a workspace, write the reward, and return whether it passed. An unusable workspace fails.

    Raises:
        TaskError: the task can't be graded.
        SandboxError: this machine can't grade.
    """
    tasks = {task.id: task for task in load_suite(suite)}
    try:
        submission = collect_workspace(tasks[task_id], workspace, SYSTEM)
    except SubmissionError as error:
        submission = Submission(system=SYSTEM, task=task_id, code="", warnings=(str(error),))
    with open_pool(DEFAULT_SANDBOX, [suite], workers=1) as pool:
        (found,) = grade([submission], tasks, (fresh_seed(),), pool, keep_goldens=False)
    (logs / "grade.json").write_text(found.blinded().model_dump_json(indent=1) + "\n", "utf-8")
    (logs / "reward.txt").write_text(f"{int(found.passed)}\n", "utf-8")
    return found.passed


def main() -> None:
    """Read the command line."""
    task_id, *folders = sys.argv[1:]
    try:
        verify(task_id, *map(Path, folders))
    except LmrbenchError as error:
        sys.exit(f"lmrbench: {error}")


if __name__ == "__main__":
    main()
