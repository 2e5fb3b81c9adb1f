"""The warm worker: imports what the tasks need once, then forks for each request.

It reads frames from standard input and answers on what was its standard output. A request is followed by its body, a
check and the files of a repository, which the child alone reads: what the worker held, later children would find. The
answer is the frames of the forked child, passed on unread as they come, and the worker's own word on the cases that
the child did not live to report. After each request every process of the child is dead and every file that
it wrote is gone; where that can't be had the worker ends, and the host starts another.

In a namespace of its own the worker is process 1, so that no child can kill or stop it.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import gc
import importlib
import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

from . import memory
from .case_runner import run_check
from .confine import bound_child, confine_worker
from .folders import empty
from .framing import (
    BROKEN,
    CASES,
    DIED,
    DONE,
    HEADER,
    LOG,
    OBSERVED,
    PRELOAD,
    RAISED,
    READY,
    REQUEST,
    STOP,
    TIMED_OUT,
    pack,
    write_all,
)
from .processor import seconds_waited
from .relay import Relay, copy

MAX_CASES = 10_000
MAX_NAMES_BYTES = 1 << 20
LOG_TAIL_BYTES = 4000
SAMPLE_SECONDS = 0.05
KILL_SECONDS = 10.0
# By how many limits waiting for a processor may prolong a case, and no more: a candidate can compete with itself.
MOST_WAITING = 3


class Worker:
    """The loop over requests. Children may write below `folders`, the first of which is where they start."""

    def __init__(self, requests: int, answers: int, folders: tuple[Path, ...], own_namespace: bool) -> None:
        self.requests = requests
        self.answers = answers
        self.folders = folders
        self.modes = [folder.stat().st_mode & 0o7777 for folder in folders]
        self.own_namespace = own_namespace

    def serve(self) -> None:
        """Answer frames until the host hangs up. A STOP that comes after its request has ended changes nothing."""
        while frame := self.read_frame():
            kind, message = frame
            if kind == PRELOAD:
                self._preload(message)
            elif kind == REQUEST:
                self._answer(message)

    def read_frame(self) -> tuple[int, Any] | None:
        """The kind and the message of the host's next frame; None if it hung up."""
        if not (header := self._read(HEADER.size)):
            return None
        kind, _, length = HEADER.unpack(header)
        return kind, json.loads(self._read(length))

    def _read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            if not (more := os.read(self.requests, count - len(data))):
                return b""
            data += more
        return data

    def unnamed_file(self) -> int:
        """An empty file that no path leads to."""
        path = self.folders[0] / "unnamed"
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.unlink(path)
        return file

    def _take_body(self, count: int) -> int:
        """Move what follows a request into a file, past the memory that later children will share."""
        body = self.unnamed_file()
        while count:
            moved = os.splice(self.requests, body, count)
            if not moved:
                sys.exit("the host hung up")
            count -= moved
        return body

    def send(self, kind: int, case: int, payload: bytes) -> None:
        """Send one frame to the host."""
        write_all(self.answers, pack(kind, case, payload))

    def _preload(self, modules: list[str]) -> None:
        began = time.perf_counter()
        for name in modules:
            importlib.import_module(name)
        torch: Any = sys.modules.get("torch")
        if torch is not None:
            torch.set_num_threads(1)
        if torch is not None and "torch.optim" in modules:
            # The first step of any optimizer imports more than torch itself does; here it does so once for all tasks.
            weight = torch.zeros(1, requires_grad=True)
            weight.grad = torch.zeros(1)
            torch.optim.SGD([weight], lr=0.1).step()
        gc.collect()
        gc.freeze()
        self.send(READY, -1, json.dumps({"seconds": time.perf_counter() - began}).encode())

    def _answer(self, request: dict[str, Any]) -> None:
        body = self._take_body(request["body_bytes"])
        deadline = time.monotonic() + request["task_seconds"]
        log = os.open(self.folders[0] / "log", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        turn = Turn(self, request, body, log, deadline)
        while turn.goes_on():
            turn.run()
            self._kill_descendants()
        size = os.fstat(log).st_size
        tail = min(size, LOG_TAIL_BYTES)
        write_all(self.answers, HEADER.pack(LOG, -1, tail))
        copy(log, size - tail, tail, self.answers)
        os.close(log)
        os.close(body)
        clean = self._wipe()
        self.send(DONE, -1, json.dumps({"peak_kb": turn.peak_kb, "clean": clean}).encode())
        if not clean:
            sys.exit(3)

    def descendants(self) -> list[int]:
        """Every process below the worker, whoever its parent is by now."""
        everyone = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        if self.own_namespace:
            return [pid for pid in everyone if pid != os.getpid()]
        children: dict[int, list[int]] = {}
        for pid in everyone:
            with contextlib.suppress(OSError):
                # The name in the second field may hold spaces and brackets of its own.
                parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(pid)
        found, below = [], [os.getpid()]
        while below:
            below = [child for pid in below for child in children.get(pid, [])]
            found += below
        return found

    def disk_bytes(self) -> int:
        """What the folders of the children hold, where these are file systems of their own; otherwise 0."""
        if not self.own_namespace:
            return 0
        usage = [os.statvfs(folder) for folder in self.folders]
        # An empty file takes no block, but about a kilobyte of the kernel's memory.
        return sum(
            (item.f_blocks - item.f_bfree) * item.f_frsize + (item.f_files - item.f_ffree) * 1024 for item in usage
        )

    def _kill_descendants(self) -> None:
        deadline = time.monotonic() + KILL_SECONDS
        while time.monotonic() < deadline:
            if self.own_namespace:
                # One call under the kernel's lock: a fork bomb can't outrun it.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(-1, signal.SIGKILL)
            else:
                for pid in self.descendants():
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            if not self.descendants():
                return
            time.sleep(0.001)
        sys.exit("some process of a candidate could not be killed")

    def _wipe(self) -> bool:
        try:
            for folder, mode in zip(self.folders, self.modes, strict=True):
                empty(folder, mode)
        except (OSError, RecursionError):
            return False
        return not any(os.listdir(folder) for folder in self.folders)


class Turn:
    """One request: a child for its cases, and another after each that died, until every case is spoken of."""

    def __init__(self, worker: Worker, request: dict[str, Any], body: int, log: int, deadline: float) -> None:
        self.worker = worker
        self.request = request
        self.body = body
        self.log = log
        self.deadline = deadline
        self.case = 0
        self.count: int | None = None
        self.broken = False
        self.announced = False
        self.stopped = False
        self.output_left = request["limits"]["output_mb"] << 20
        self.peak_kb = 0

    def goes_on(self) -> bool:
        """Whether another child is due: at the start, and while there are cases and time left and nobody says STOP."""
        if self.broken or self.stopped or time.monotonic() >= self.deadline:
            return False
        return self.count is None or self.case < self.count

    def run(self) -> None:
        """Run one child to its end, and report why it died, for the case that it died in."""
        reports, out = os.pipe()
        os.set_inheritable(out, False)
        held = memory.resident("self")
        spool = self.worker.unnamed_file()
        self.announced = False
        # Held here, where no candidate can replace it.
        exit_now = os._exit
        pid = os.fork()
        if pid == 0:
            try:
                os.close(reports)
                os.close(spool)
                self._become_child(out)
            finally:
                # Never back into the worker's loop, and no exit handlers of the candidate's.
                exit_now(0)
        os.close(out)
        os.set_blocking(reports, False)
        exited = os.pidfd_open(pid)
        try:
            kind, reason = self._watch(Relay(reports, spool), reports, pid, exited, held)
            if reason or self.stopped:
                os.kill(pid, signal.SIGKILL)
            _, status, usage = os.wait4(pid, 0)
        finally:
            os.close(exited)
            os.close(reports)
            os.close(spool)
        self.peak_kb = max(self.peak_kb, usage.ru_maxrss)
        if self.stopped:
            return
        if self.count is None and not self.broken:
            self.broken = True
            self.worker.send(kind, -1, (reason or _ending(status)).encode())
        elif self.count is not None and self.case < self.count:
            self.worker.send(kind, self.case, (reason or _ending(status)).encode())
            self.case += 1

    def _become_child(self, out: int) -> None:
        os.close(self.worker.requests)
        os.close(self.worker.answers)
        os.setsid()
        # Opened anew: flags belong to what was opened, and would stay for the next task.
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(self.log, 1)
        os.dup2(self.log, 2)
        os.close(self.log)
        limits = self.request["limits"]
        bound_child(
            memory=limits["memory_mb"] << 20,
            processes=limits["processes"],
            cpu_seconds=int(self.request["task_seconds"]) + 2,
            file_bytes=limits["disk_mb"] << 20,
            open_files=limits["open_files"],
        )
        body = json.loads(os.pread(self.body, self.request["body_bytes"], 0))
        os.close(self.body)
        files = {name: base64.b64decode(data) for name, data in body["files"].items()}
        repo = self.worker.folders[0] / f"repo-{self.case}"
        tree = self.request["tree"]
        run_check(repo, files, tree and Path(tree), body["check"], self.request["seed"], self.case, out)

    def _watch(self, relay: Relay, reports: int, pid: int, exited: int, held: int) -> tuple[int, str]:
        """Pass frames on until the child has ended, breaks a bound or is to stop; the reason is of a broken bound."""
        poll = select.poll()
        poll.register(reports, select.POLLIN)
        poll.register(exited, select.POLLIN)
        poll.register(self.worker.requests, select.POLLIN)
        began, waited = time.monotonic(), seconds_waited(pid)
        limits = self.request["limits"]
        while True:
            limit, what = self._time_limit(began, seconds_waited(pid) - waited)
            left = limit - time.monotonic()
            if left <= 0:
                return TIMED_OUT, what
            ready = dict(poll.poll(min(left, SAMPLE_SECONDS) * 1000))
            if self.worker.requests in ready:
                if (frame := self.worker.read_frame()) is None or frame[0] != STOP:
                    sys.exit("the host hung up")
                self.stopped = True
                return DIED, ""
            before = (self.case, self.announced)
            try:
                read = self._pass_on(relay)
            except ValueError as error:
                return DIED, str(error)
            except OverflowError:
                return DIED, f"sent out more than {limits['output_mb']} MB"
            if before != (self.case, self.announced):
                began, waited = time.monotonic(), seconds_waited(pid)
            if not read and exited in ready:
                return DIED, ""
            most = (limits["memory_mb"] << 20) - (memory.of_sockets() if self.worker.own_namespace else 0)
            if memory.exceeds(self.worker.descendants(), held, most):
                return DIED, f"used more than {limits['memory_mb']} MB of memory"
            if self.worker.disk_bytes() - relay.held > limits["disk_mb"] << 20:
                return DIED, f"wrote more than {limits['disk_mb']} MB of files"

    def _time_limit(self, began: float, waited: float) -> tuple[float, str]:
        seconds = self.request["case_seconds"]
        if self.count is None or seconds is None or self.case >= len(seconds):
            return self.deadline, f"the check's {self.request['task_seconds']:.0f} s were used up"
        limit = began + seconds[self.case] + min(waited, MOST_WAITING * seconds[self.case])
        if limit < self.deadline:
            return limit, f"took more than {seconds[self.case]:.0f} s"
        return self.deadline, f"the check's {self.request['task_seconds']:.0f} s were used up"

    def _pass_on(self, relay: Relay) -> bool:
        """Pass on what the child has written by now; whether that completed a frame.

        Raises ValueError for a frame that is out of turn, OverflowError for one too many bytes.
        """
        frames = 0
        while frame := relay.receive(self.output_left):
            self._accept(relay, *frame)
            self.output_left -= HEADER.size + frame[2]
            relay.drop()
            frames += 1
        return frames > 0

    def _accept(self, relay: Relay, kind: int, case: int, length: int) -> None:
        forged = ValueError("something other than the check wrote to the stream of observations")
        if kind == CASES and case == -1 and not self.announced and length <= MAX_NAMES_BYTES:
            self.announced = True
            try:
                names = json.loads(relay.payload())
            except (ValueError, RecursionError):
                raise forged from None
            if not isinstance(names, list) or len(names) > MAX_CASES or self.count not in (None, len(names)):
                raise forged
            if self.count is None:
                self.count = len(names)
                relay.forward(self.worker.answers)
        elif kind == BROKEN and self.count is None and not self.broken:
            self.broken = True
            relay.forward(self.worker.answers)
        elif kind in (OBSERVED, RAISED) and self.announced and case == self.case < (self.count or 0):
            relay.forward(self.worker.answers)
            self.case += 1
        else:
            raise forged


def _ending(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        # Most real-time signals have no name.
        known = number in {*signal.Signals}
        return f"the process was killed by {signal.Signals(number).name if known else f'signal {number}'}"
    return f"the process ended with exit code {os.WEXITSTATUS(status)} before it reported"


def main() -> None:
    """Confine this process, move the control pipe away from standard input and output, and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folders", type=Path, nargs="+", required=True)
    parser.add_argument("--user", type=int)
    parser.add_argument("--own-namespace", action="store_true")
    arguments = parser.parse_args()
    requests, answers = os.dup(0), os.dup(1)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    confine_worker(arguments.user, arguments.own_namespace)
    # The folder of this program is not where a candidate's imports are looked for.
    sys.path[:] = [entry for entry in sys.path if not Path(entry, __package__).is_dir()]
    os.chdir(arguments.folders[0])
    Worker(requests, answers, tuple(arguments.folders), arguments.own_namespace).serve()


if __name__ == "__main__":
    main()
