"""How is a process ended that may not end its own children?"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path


def kill_with_children(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its children at once; nothing where its end has been noted, as its number may be another's.

    Where lmrbench runs as root, bwrap gives up the right to signal what it started, which has a user id of its own and
    would outlive it.
    """
    if process.returncode is not None:
        return
    try:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text("ascii").split()
    except OSError:
        children = []
    for child in children:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(int(child), signal.SIGKILL)
    process.kill()
