"""Facts about a paper's reference repository, measured beside its own modules."""

import json
import os
import subprocess
import sys
from pathlib import Path

SUITE = Path(__file__).resolve().parents[2] / "suite"


def facts_of(paper, code):
    """What a snippet, run in the paper's repository, prints as JSON.

    In a process of its own, since modules of different papers have the same names.
    """
    repo = SUITE / paper / "repo"
    environment = {**os.environ, "PYTHONPATH": str(repo), "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, "-B", "-c", code], cwd=repo, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(run.stdout)
