"""The worker program: imports the packages of the tasks once, then forks a child for each request.

The child runs a candidate (the code to grade) on the cases of a check. The host is lmrbench, outside of the sandbox.
The worker reads the host's frames (messages; see `framing`) from its standard input and answers on its standard output.
A request is followed by its body: the check's function `observe`, the drawn cases and the files of a repository. Only
the child reads the body, because later children could read anything that is in the worker's memory. The answer consists
of the child's frames, whose payloads are passed on unread as they arrive, and of the worker's own frames for cases
whose child died. If a child dies, another one runs the remaining cases. After each request, the worker kills every
process of its children and removes every file that they wrote. If that fails, it exits, and the host starts another
worker.

Time limits count the processor time of all processes of the children. A limit on wall-clock time, several times as
long, stops a child that sleeps.

If the worker has a PID namespace of its own, it is process 1 there, so that no child can kill or stop it.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .confine import confine_worker
from .framing import DONE, LOG, PRELOAD, READY, REQUEST
from .landlock import Access
from .processes import kill_descendants
from .relay import HostChannel
from .request import RequestRun
from .scratch import Scratch

LOG_TAIL_BYTES = 4000


class ForkServer:
    """The worker's loop over requests."""

    def __init__(
        self, host: HostChannel, scratch: Scratch, own_namespace: bool, rules: Sequence[Access] | None
    ) -> None:
        """Set up the loop; `serve` runs it.

        Args:
            host: The pipes to the host.
            scratch: The folders that children may write to.
            own_namespace: Whether the worker is process 1 of a PID namespace of its own.
            rules: The paths that Landlock allows children to access, besides their own entries in /proc; None without
                Landlock.
        """
        self._rules = rules
        self._host = host
        self._scratch = scratch
        self._own_namespace = own_namespace

    def serve(self) -> None:
        """Answer frames until the host hangs up. A STOP that arrives after its request has ended is ignored."""
        while frame := self._host.read_frame():
            kind, message = frame
            if kind == PRELOAD:
                began = time.perf_counter()
                preload(message)
                self._host.send(READY, -1, json.dumps({"seconds": time.perf_counter() - began}).encode())
            elif kind == REQUEST:
                self._answer(message)

    def _answer(self, request: dict[str, Any]) -> None:
        body = self._scratch.unnamed_file()
        self._host.move_body(request["head_bytes"] + request["cases_bytes"], body)
        log = os.open(self._scratch.start / "log", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        run = RequestRun(request, body, log, self._host, self._scratch, self._own_namespace, self._rules)
        while run.needs_child():
            run.run_child()
            kill_descendants(self._own_namespace)
        self._host.send_tail(LOG, log, LOG_TAIL_BYTES)
        os.close(log)
        os.close(body)
        clean = self._scratch.wipe()
        done = {"peak_kb": run.peak_kb, "clean": clean, "processor_seconds": run.used}
        self._host.send(DONE, -1, json.dumps(done).encode())
        if not clean:
            sys.exit(3)


def preload(modules: Sequence[str]) -> None:
    """Import modules in this process, so that the children that it forks later need not import them."""
    for name in modules:
        importlib.import_module(name)
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
    if torch is not None and "torch.optim" in modules:
        # The first step of an optimizer imports modules that `import torch` does not. One step is taken here, so that
        # children need not import these modules.
        weight = torch.zeros(1, requires_grad=True)
        weight.grad = torch.zeros(1)
        torch.optim.SGD([weight], lr=0.1).step()
    gc.collect()
    gc.freeze()


def serve(
    folders: Sequence[Path],
    user: int | None,
    own_namespace: bool,
    rules: Sequence[Access] | None = None,
    reads_all: bool = False,
) -> None:
    """Confine this process, move the pipes away from standard input and output, and answer the host until it hangs up.

    Args:
        folders: The folders that children may write to.
        user: The user and group id to become if the process starts as root.
        own_namespace: Whether this is process 1 of a PID namespace of its own.
        rules: The paths that Landlock allows this process to access, besides /proc; None without Landlock.
        reads_all: Whether this process may still read all files after it has become `user`; see `become_user`.
    """
    host = HostChannel(os.dup(0), os.dup(1))
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    confine_worker(user, own_namespace, rules, reads_all)
    # A candidate's imports must not find the modules of this program.
    sys.path[:] = [entry for entry in sys.path if not Path(entry, __package__).is_dir()]
    os.chdir(folders[0])
    try:
        ForkServer(host, Scratch(folders), own_namespace, rules).serve()
    finally:
        # If the worker is process 1 of a namespace, its descendants end with it. Otherwise they would keep running.
        if not own_namespace:
            kill_descendants(own_namespace)


def main() -> None:
    """Parse the command line and serve the host."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folders", type=Path, nargs="+", required=True)
    parser.add_argument("--user", type=int)
    parser.add_argument("--own-namespace", action="store_true")
    parser.add_argument("--rules", type=Path)
    parser.add_argument("--reads-all", action="store_true")
    arguments = parser.parse_args()
    rules = [Access(*rule) for rule in json.loads(arguments.rules.read_text())] if arguments.rules else None
    serve(arguments.folders, arguments.user, arguments.own_namespace, rules, arguments.reads_all)


if __name__ == "__main__":
    main()
