"""Run one request in the worker: fork children for its cases, watch their limits, and report cases whose child died.

A request asks the worker to run a candidate (the code to grade) on the cases of a check. Children send frames to the
worker; `framing` lists their kinds, such as STARTED.
"""

from __future__ import annotations

import base64
import json
import os
import select
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import memory
from .case_runner import enter, run_cases
from .cases import restore_cases
from .confine import bound_child, guard_host
from .framing import BROKEN, DIED, FAULT, HEADER, OBSERVED, RAISED, STARTED, STOP, TIMED_OUT, pack, write_all
from .landlock import Access, abi, own_process, restrict
from .opened import Opened, mapped, opened
from .processes import ProcessorTime, descendants
from .relay import HostChannel, Relay
from .scratch import Scratch

MAX_FAULT = 1000
SAMPLE_SECONDS = 0.05
# The kernel kills a process that uses this many processor seconds more than the check's limit.
CPU_GRACE = 2
# The seconds between two searches for mapped files without a name. A search takes milliseconds.
_MAPPED_SECONDS = 1.0
# The kernel reports only the size of the mapping of such a file. The file itself may be larger, so it is counted as at
# least 1/_MAPPED_PART of the limit on the bytes of all files.
_MAPPED_PART = 8


class RequestRun:
    """The run of one request. A child runs its cases; whenever a child dies, another one runs the remaining cases.

    Attributes:
        used: Processor seconds of all children, each counted from its STARTED frame.
        peak_kb: The largest peak resident size of any child, in kilobytes.
    """

    def __init__(
        self,
        request: dict[str, Any],
        body: int,
        log: int,
        host: HostChannel,
        scratch: Scratch,
        own_namespace: bool,
        rules: Sequence[Access] | None,
    ) -> None:
        """Prepare the run. The caller then calls `run_child` as long as `needs_child` returns True.

        Args:
            request: The message of the host's REQUEST frame.
            body: The descriptor of the file that contains the request's body.
            log: The descriptor of the file for the output of children.
            host: The pipes to the host.
            scratch: The folders that children may write to.
            own_namespace: Whether the worker is process 1 of a PID namespace of its own.
            rules: The paths that Landlock allows children to access, besides their own entries in /proc; None without
                Landlock.
        """
        self._rules = rules
        self._request = request
        self._body = body
        self._log = log
        self._host = host
        self._scratch = scratch
        self._own_namespace = own_namespace
        self._deadline = time.monotonic() + request["wall_factor"] * request["check_seconds"]
        self._case = 0
        self._count: int = request["count"]
        self._ended = False
        self._started = False
        self._fault = ""
        self._mapped: dict[int, int] = {}
        self._search_again = 0.0
        self._output_left = request["limits"]["output_mb"] << 20
        # The part of `used` that belongs to earlier children.
        self._used_before = 0.0
        self.used = 0.0
        self.peak_kb = 0

    def needs_child(self) -> bool:
        """Return whether another child must run: cases and time are left, and the request has not ended early."""
        return not self._ended and self._case < self._count and self._seconds_left() > 0

    def run_child(self) -> None:
        """Run one child to its end. If it dies, send the host a frame about the current case, with the reason."""
        reports, out = os.pipe()
        os.set_inheritable(out, False)
        held = memory.resident("self")
        spool = self._scratch.unnamed_file()
        self._started = False
        # Kept in a local variable, because a candidate could replace `os._exit`.
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
                # Never return to the worker's loop, and never run exit handlers of the candidate.
                exit_now(0)
        os.close(out)
        os.set_blocking(reports, False)
        exited = os.pidfd_open(pid)
        try:
            processor = ProcessorTime()
            kind, reason, overhead = self._watch(Relay(reports, spool), reports, exited, held, processor)
            self.used = self._used_before + processor.seconds(descendants(self._own_namespace)) - overhead
            if reason or self._ended or self._case >= self._count:
                os.kill(pid, signal.SIGKILL)
            _, status, usage = os.wait4(pid, 0)
        finally:
            os.close(exited)
            os.close(reports)
            os.close(spool)
        self.peak_kb = max(self.peak_kb, usage.ru_maxrss)
        self._used_before = self.used
        if self._ended:
            return
        if not self._started and self._case == 0:
            # No code of the candidate has run yet, so the candidate is not at fault. Later children are treated
            # differently, because something that an earlier child left behind may make them fail.
            self._ended = True
            self._host.send(FAULT, -1, (self._fault or reason or _ending(status)).encode())
        elif self._case < self._count:
            self._host.send(kind, self._case, (reason or _ending(status)).encode())
            self._case += 1

    def _become_child(self, out: int) -> None:
        self._host.close()
        os.setsid()
        # Each child opens the null device itself. If children shared an open file, flags that a candidate sets on it
        # would persist for later children.
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(self._log, 1)
        os.dup2(self._log, 2)
        os.close(self._log)
        limits = self._request["limits"]
        if self._rules is not None:
            guard_host(abi())
        bound_child(
            memory=limits["memory_mb"] << 20,
            processes=limits["processes"],
            cpu_seconds=int(self._request["check_seconds"]) + CPU_GRACE,
            file_bytes=limits["disk_mb"] << 20,
            open_files=limits["open_files"],
        )
        head_bytes = self._request["head_bytes"]
        head = json.loads(os.pread(self._body, head_bytes, 0))
        # Cases are restored before the repository can be imported. Otherwise modules of the repository could replace
        # those that `restore_cases` imports.
        drawn = restore_cases(os.pread(self._body, self._request["cases_bytes"], head_bytes))
        os.close(self._body)
        if self._rules is not None:
            restrict([*self._rules, *own_process()])
        tree = self._request["tree"]
        files = {name: base64.b64decode(data) for name, data in head["files"].items()}
        enter(self._scratch.start / f"repo-{self._case}", files, tree and Path(tree))
        run_cases(head["observe"], drawn, head["numbers"], self._case, head["random_seed"], out)

    def _watch(
        self, relay: Relay, reports: int, exited: int, held: int, processor: ProcessorTime
    ) -> tuple[int, str, float]:
        """Pass frames on until the child ends or breaks a limit, or the host sends STOP.

        Returns:
            The kind of the frame to send for the current case, the reason (empty unless the child was stopped because
            it broke a limit or another rule), and the processor seconds that the child used before STARTED, for example
            to lay out the repository.
        """
        poll = select.poll()
        poll.register(reports, select.POLLIN)
        poll.register(exited, select.POLLIN)
        poll.register(self._host.requests, select.POLLIN)
        before = (self._case, self._started)
        began, case_began, overhead = time.monotonic(), 0.0, 0.0
        # Earlier children have ended, so their mappings no longer exist.
        self._mapped, self._search_again = {}, began + _MAPPED_SECONDS
        limits = self._request["limits"]
        most = limits["memory_mb"] << 20
        while True:
            pids = descendants(self._own_namespace)
            spent = processor.seconds(pids)
            if before != (self._case, self._started):
                before = (self._case, self._started)
                began, case_began = time.monotonic(), spent
            if not self._started:
                overhead = spent
            self.used = self._used_before + spent - overhead
            if what := self._out_of_time(time.monotonic() - began, spent - case_began):
                return TIMED_OUT, what, overhead
            try:
                # Before STARTED, the candidate can't have opened anything, and the child's descriptors can't be read.
                held_open = opened(pids) if self._started and not self._own_namespace else Opened(0, {})
            except PermissionError:
                return DIED, "ran a program that hides its open files", overhead
            sockets = memory.of_sockets() if self._own_namespace else memory.of_streams(held_open.sockets)
            if memory.excess(pids, held, most - sockets):
                return DIED, f"used more than {limits['memory_mb']} MB of memory", overhead
            if self._file_bytes(relay, pids, held_open) > limits["disk_mb"] << 20:
                return DIED, f"wrote more than {limits['disk_mb']} MB of files", overhead
            ready = dict(poll.poll(SAMPLE_SECONDS * 1000))
            if self._host.requests in ready:
                if (frame := self._host.read_frame()) is None or frame[0] != STOP:
                    sys.exit("the host hung up")
                self._ended = True
                return DIED, "", overhead
            try:
                read = self._pass_on(relay)
            except ValueError as error:
                return DIED, str(error), overhead
            except OverflowError:
                return DIED, f"sent out more than {limits['output_mb']} MB", overhead
            if self._ended or self._case >= self._count or (not read and exited in ready):
                return DIED, "", overhead

    def _file_bytes(self, relay: Relay, pids: Sequence[int], held_open: Opened) -> int:
        """Return the total size in bytes of all files that candidates have written, including files without a name."""
        if self._own_namespace:
            return self._scratch.usage() - relay.held
        most = self._request["limits"]["disk_mb"] << 20
        if (now := time.monotonic()) >= self._search_again:
            self._mapped = {
                inode: max(size, most // _MAPPED_PART) for inode, size in mapped(pids, self._scratch.folders).items()
            }
            self._search_again = now + _MAPPED_SECONDS
        return self._scratch.count(most) + sum((self._mapped | held_open.unnamed).values())

    def _seconds_left(self) -> float:
        """Return the seconds left for all cases: processor seconds or wall-clock seconds, whichever is less."""
        left: float = min(self._request["check_seconds"] - self.used, self._deadline - time.monotonic())
        return left

    def _out_of_time(self, elapsed: float, used: float) -> str:
        """Return a message about the time limit that was reached, or "" if no limit was reached.

        Args:
            elapsed: Wall-clock seconds of the current case.
            used: Processor seconds of the current case.
        """
        check, factor = self._request["check_seconds"], self._request["wall_factor"]
        if self.used >= check:
            return f"the check's {check:.0f} s of processor time were used up"
        if time.monotonic() >= self._deadline:
            return f"the check took more than {factor * check:.0f} s"
        if self._started and (seconds := self._request["case_seconds"]) is not None and self._case < self._count:
            if used >= seconds[self._case]:
                return f"took more than {seconds[self._case]:.0f} s of processor time"
            if elapsed >= factor * seconds[self._case]:
                return f"took more than {factor * seconds[self._case]:.0f} s"
        return ""

    def _pass_on(self, relay: Relay) -> bool:
        """Pass on the frames that the child has completed so far; return whether there were any.

        Raises:
            ValueError: A frame arrived out of turn, or a later child could not load the check.
            OverflowError: The child sends more bytes than its limit on output.
        """
        frames = 0
        while frame := relay.receive(self._output_left):
            self._accept(relay, *frame)
            self._output_left -= HEADER.size + frame[2]
            relay.drop()
            frames += 1
        return frames > 0

    def _accept(self, relay: Relay, kind: int, case: int, length: int) -> None:
        if kind == STARTED and not self._started:
            self._started = True
        elif kind == FAULT and not self._started:
            self._fault = relay.payload().decode("utf-8", "replace")
        elif kind == BROKEN and self._started and self._case:
            # An earlier child could load `observe`, so something that it left behind is to blame, and only the current
            # case is lost. The payload comes from the candidate. It is not quoted, because later children could find it
            # in the memory of this process.
            raise ValueError("the code can't be loaded again after one of its processes has died")
        elif kind == BROKEN and self._started and not self._ended:
            self._ended = True
            relay.forward(self._host.answers)
        elif kind in (OBSERVED, RAISED) and self._started and case == self._case < self._count:
            relay.forward(self._host.answers)
            self._case += 1
        else:
            raise ValueError("something other than the check wrote to the stream of observations")


def _ending(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        # Most real-time signals have no name.
        known = number in {*signal.Signals}
        return f"the process was killed by {signal.Signals(number).name if known else f'signal {number}'}"
    return f"the process ended with exit code {os.WEXITSTATUS(status)} before it reported"
