"""Grade a workspace on freshly drawn cases (inputs), and write the reward.

This program is the verifier of a task for Harbor, a framework that runs agents in containers. Its command line is
`python -m lmrbench.integrations.harbor_verifier TASK SUITE WORKSPACE LOGS`. It writes two files to the folder LOGS:
`reward.txt`, which contains 1 or 0, and `grade.json`, which contains the grade without case names and without the
reasons for mismatches. If this machine can't grade, the program exits with status 1 and writes no reward.
"""

from __future__ import annotations

import sys
from pathlib import Path

from lmrbench.errors import LmrbenchError, SubmissionError
from lmrbench.grading.draw import fresh_seed
from lmrbench.grading.grader import Grader
from lmrbench.grading.plan import GradingPlan
from lmrbench.grading.reading import collect_workspace
from lmrbench.tasks.submission import Submission

SYSTEM = "agent"
# Landlock, a security module of Linux, works in a container without extra privileges.
SANDBOX = "landlock"


def verify(task_id: str, suite: Path, workspace: Path, logs: Path) -> bool:
    """Grade a workspace and write the reward. If no answer can be read from the workspace, the reward is 0.

    Args:
        task_id: the id of the answered task.
        suite: the folder of the suite.
        workspace: the folder in which the agent worked.
        logs: the folder that `reward.txt` and `grade.json` are written to.

    Returns:
        Whether the answer in the workspace is correct.

    Raises:
        TaskError: the reference implementation fails the check of the task.
        SandboxError: this machine can't run the sandbox.
    """
    plan = GradingPlan((fresh_seed(),), fresh_seeds=True, keep_references=False, sandbox=SANDBOX, workers=1)
    with Grader(suite, plan) as grader:
        try:
            submission = collect_workspace(grader.tasks[task_id], workspace, SYSTEM)
        except SubmissionError as error:
            submission = Submission(system=SYSTEM, task=task_id, code="", warnings=(str(error),))
        ((_, found),) = grader.grade_all([submission])
    (logs / "grade.json").write_text(found.blinded().model_dump_json(indent=1) + "\n", "utf-8")
    (logs / "reward.txt").write_text(f"{int(found.correct)}\n", "utf-8")
    return found.correct


def main() -> None:
    """Run the verifier on the arguments of the command line."""
    task_id, *folders = sys.argv[1:]
    try:
        verify(task_id, *map(Path, folders))
    except LmrbenchError as error:
        sys.exit(f"lmrbench: {error}")


if __name__ == "__main__":
    main()
