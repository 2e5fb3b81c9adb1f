"""The warm worker: imports what the tasks need once, then forks for each request.

It reads frames from standard input and answers on what was its standard output. A request is followed by its body
(`observe`, drawn cases and the files of a repository), which the child alone reads: what the worker held, later
children would find. The answer is the frames of the forked child, passed on unread as they come, and the worker's own
word on the cases that the child did not live to report. After each request every process of the child is dead and
every file that it wrote is gone; where that can't be had the worker ends, and the host starts another.

Limits on time count the processor time of all processes of the child. A limit on the time of the clock, several times
as long, ends what sleeps.

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
from .case_runner import enter, run_cases
from .cases import restore_cases
from .confine import bound_child, confine_worker
from .folders import empty
from .framing import (
    BROKEN,
    DIED,
    DONE,
    FAULT,
    HEADER,
    LOG,
    OBSERVED,
    PRELOAD,
    RAISED,
    READY,
    REQUEST,
    STARTED,
    STOP,
    TIMED_OUT,
    pack,
    write_all,
)
from .processor import ProcessorTime
from .relay import Relay, copy

LOG_TAIL_BYTES = 4000
MAX_FAULT = 1000
SAMPLE_SECONDS = 0.05
KILL_SECONDS = 10.0
# What a process may use beyond the check's processor time before the kernel ends it, in seconds.
CPU_GRACE = 2


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
        body = self._take_body(request["head_bytes"] + request["cases_bytes"])
        log = os.open(self.folders[0] / "log", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        turn = Turn(self, request, body, log)
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
        done = {"peak_kb": turn.peak_kb, "clean": clean, "processor_seconds": turn.used}
        self.send(DONE, -1, json.dumps(done).encode())
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

    def __init__(self, worker: Worker, request: dict[str, Any], body: int, log: int) -> None:
        self.worker = worker
        self.request = request
        self.body = body
        self.log = log
        self.deadline = time.monotonic() + request["wall_factor"] * request["check_seconds"]
        self.case = 0
        self.count: int = request["count"]
        self.ended = False
        self.started = False
        self.fault = ""
        # Processor seconds that all children have used since they started, and all but the present one.
        self.used = self.used_before = 0.0
        self.output_left = request["limits"]["output_mb"] << 20
        self.peak_kb = 0

    def goes_on(self) -> bool:
        """Whether another child is due: at the start, and while there are cases and time left and nobody says STOP."""
        return not self.ended and self.case < self.count and self._check_left() > 0

    def run(self) -> None:
        """Run one child to its end, and report why it died, for the case that it died in."""
        reports, out = os.pipe()
        os.set_inheritable(out, False)
        held = memory.resident("self")
        spool = self.worker.unnamed_file()
        self.started = False
        # Held here, where no candidate can replace it.
        exit_now = os._exit
        pid = os.fork()
        if pid == 0:
            try:
                os.close(reports)
                os.close(spool)
                self._become_child(out)
            except BaseException as error:
                write_all(out, pack(FAULT, -1, (str(error) or repr(error)).encode()[:MAX_FAULT]))
            finally:
                # Never back into the worker's loop, and no exit handlers of the candidate's.
                exit_now(0)
        os.close(out)
        os.set_blocking(reports, False)
        exited = os.pidfd_open(pid)
        try:
            processor = ProcessorTime()
            kind, reason, overhead = self._watch(Relay(reports, spool), reports, exited, held, processor)
            self.used = self.used_before + processor.seconds(self.worker.descendants()) - overhead
            if reason or self.ended or self.case >= self.count:
                os.kill(pid, signal.SIGKILL)
            _, status, usage = os.wait4(pid, 0)
        finally:
            os.close(exited)
            os.close(reports)
            os.close(spool)
        self.peak_kb = max(self.peak_kb, usage.ru_maxrss)
        self.used_before = self.used
        if self.ended:
            return
        if not self.started and self.case == 0:
            # Nothing of the candidate has run. What later children find is what earlier ones left.
            self.ended = True
            self.worker.send(FAULT, -1, (self.fault or reason or _ending(status)).encode())
        elif self.case < self.count:
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
            cpu_seconds=int(self.request["check_seconds"]) + CPU_GRACE,
            file_bytes=limits["disk_mb"] << 20,
            open_files=limits["open_files"],
        )
        head_bytes = self.request["head_bytes"]
        head = json.loads(os.pread(self.body, head_bytes, 0))
        # Before the repository, whose modules could stand in for what this imports.
        drawn = restore_cases(os.pread(self.body, self.request["cases_bytes"], head_bytes))
        os.close(self.body)
        tree = self.request["tree"]
        files = {name: base64.b64decode(data) for name, data in head["files"].items()}
        enter(self.worker.folders[0] / f"repo-{self.case}", files, tree and Path(tree))
        run_cases(head["observe"], drawn, head["numbers"], self.case, head["random_seed"], out)

    def _watch(
        self, relay: Relay, reports: int, exited: int, held: int, processor: ProcessorTime
    ) -> tuple[int, str, float]:
        """Pass frames on until the child has ended, breaks a bound or is to stop.

        Returns:
            What to tell the host of the case, why (empty unless a bound was broken), and the processor seconds that
            passed before the child had started: to lay out the repository is the worker's own overhead.
        """
        poll = select.poll()
        poll.register(reports, select.POLLIN)
        poll.register(exited, select.POLLIN)
        poll.register(self.worker.requests, select.POLLIN)
        before = (self.case, self.started)
        began, case_began, overhead = time.monotonic(), 0.0, 0.0
        limits = self.request["limits"]
        most = limits["memory_mb"] << 20
        while True:
            pids = self.worker.descendants()
            spent = processor.seconds(pids)
            if before != (self.case, self.started):
                before = (self.case, self.started)
                began, case_began = time.monotonic(), spent
            if not self.started:
                overhead = spent
            self.used = self.used_before + spent - overhead
            if what := self._out_of_time(time.monotonic() - began, spent - case_began):
                return TIMED_OUT, what, overhead
            if memory.exceeds(pids, held, most - (memory.of_sockets() if self.worker.own_namespace else 0)):
                return DIED, f"used more than {limits['memory_mb']} MB of memory", overhead
            if self.worker.disk_bytes() - relay.held > limits["disk_mb"] << 20:
                return DIED, f"wrote more than {limits['disk_mb']} MB of files", overhead
            ready = dict(poll.poll(SAMPLE_SECONDS * 1000))
            if self.worker.requests in ready:
                if (frame := self.worker.read_frame()) is None or frame[0] != STOP:
                    sys.exit("the host hung up")
                self.ended = True
                return DIED, "", overhead
            try:
                read = self._pass_on(relay)
            except ValueError as error:
                return DIED, str(error), overhead
            except OverflowError:
                return DIED, f"sent out more than {limits['output_mb']} MB", overhead
            if self.ended or self.case >= self.count or (not read and exited in ready):
                return DIED, "", overhead

    def _check_left(self) -> float:
        """How many seconds are left to all cases together, of the processor or of the clock, whichever are fewer."""
        left: float = min(self.request["check_seconds"] - self.used, self.deadline - time.monotonic())
        return left

    def _out_of_time(self, elapsed: float, used: float) -> str:
        """Which limit is reached, in words; empty if none is. elapsed, used: of the present case."""
        check, factor = self.request["check_seconds"], self.request["wall_factor"]
        if self.used >= check:
            return f"the check's {check:.0f} s of processor time were used up"
        if time.monotonic() >= self.deadline:
            return f"the check took more than {factor * check:.0f} s"
        if self.started and (seconds := self.request["case_seconds"]) is not None and self.case < self.count:
            if used >= seconds[self.case]:
                return f"took more than {seconds[self.case]:.0f} s of processor time"
            if elapsed >= factor * seconds[self.case]:
                return f"took more than {factor * seconds[self.case]:.0f} s"
        return ""

    def _pass_on(self, relay: Relay) -> bool:
        """Pass on what the child has written by now; whether that completed a frame.

        Raises ValueError for a frame that is out of turn or ends this child, OverflowError for one too many bytes.
        """
        frames = 0
        while frame := relay.receive(self.output_left):
            self._accept(relay, *frame)
            self.output_left -= HEADER.size + frame[2]
            relay.drop()
            frames += 1
        return frames > 0

    def _accept(self, relay: Relay, kind: int, case: int, length: int) -> None:
        if kind == STARTED and not self.started:
            self.started = True
        elif kind == FAULT and not self.started:
            self.fault = relay.payload().decode("utf-8", "replace")
        elif kind == BROKEN and self.started and self.case:
            # An earlier child could load it: what that one left behind costs the present case alone.
            raise ValueError(relay.payload().decode("utf-8", "replace"))
        elif kind == BROKEN and self.started and not self.ended:
            self.ended = True
            relay.forward(self.worker.answers)
        elif kind in (OBSERVED, RAISED) and self.started and case == self.case < self.count:
            relay.forward(self.worker.answers)
            self.case += 1
        else:
            raise ValueError("something other than the check wrote to the stream of observations")


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
