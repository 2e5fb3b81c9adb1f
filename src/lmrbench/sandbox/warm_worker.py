"""The host's side of a warm worker: send jobs to the worker, and read its answers without trusting them.

The host is lmrbench, outside of the sandbox. A warm worker is a sandboxed process that has imported its packages and
runs one job after another. If it hangs or dies after a successful start, the candidate (the code that the job grades)
may have caused this. So no error is raised: the outcome contains the results received so far, and its `lost` is true.
If a worker does not start at all, the machine is at fault, and SandboxError is raised.
"""

from __future__ import annotations

import base64
import json
import re
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lmrbench.errors import SandboxError
from lmrbench.sandbox.connection import Connection
from lmrbench.sandbox.inside.framing import (
    BROKEN,
    DIED,
    DONE,
    FAULT,
    LOG,
    OBSERVED,
    PRELOAD,
    RAISED,
    READY,
    REQUEST,
    STOP,
    TIMED_OUT,
    Frame,
    FrameReader,
    pack,
)
from lmrbench.sandbox.protocol import CaseOutcome, CaseStatus, Job, Outcome
from lmrbench.sandbox.trees import sent
from lmrbench.tasks.model import WALL_FACTOR

START_SECONDS = 600.0
# The time for killing processes and cleaning up, in addition to the job's time limit.
GRACE_SECONDS = 20.0
# The worker preloads this module for jobs that use optimizers, because creating the first optimizer in a process
# triggers about a second of imports.
_OPTIMIZERS = "torch.optim"
_MAX_FRAME = 1 << 30
_MOST_SECONDS = 1e6
_MOST_CHARACTERS = 4000
_SECONDS = struct.Struct("<dd")
_STATUS: dict[int, CaseStatus] = {OBSERVED: "observed", RAISED: "raised", TIMED_OUT: "timeout", DIED: "died"}


class WorkerLostError(Exception):
    """The worker ended or did not answer in time."""


class WarmWorker:
    """The host's handle to a process that runs the worker program, `inside/worker.py`; see `protocol.Worker`.

    Attributes:
        connection: The connection to the program.
        tree: The folder in the sandbox that already contains some files of the jobs, which are therefore not sent; None
            if all files are sent.
        alive: Whether the worker can take another job.
    """

    def __init__(self, sandbox: str, connection: Connection, imports: Sequence[str], tree: Path | None = None) -> None:
        """Tell the worker to import the packages, and wait until it has imported them.

        Args:
            sandbox: The name of the back end, for error messages.
            connection: The connection to the started program.
            imports: The packages to import once for all jobs.
            tree: The folder in the sandbox that already contains some files of the jobs; None to send all files.

        Raises:
            SandboxError: The worker does not start.
        """
        self.connection = connection
        self.tree = tree
        self.alive = True
        self._reader = FrameReader(_MAX_FRAME)
        self._frames: Iterator[Frame] = iter(())
        self._makes_optimizers = False
        try:
            self._preload(imports)
        except WorkerLostError as error:
            raise SandboxError(f"the {sandbox} sandbox did not start: {self._diagnosis(error)}") from error
        except BaseException:
            self.close()
            raise

    def run(self, job: Job) -> Outcome:
        """Run one job to its end, whatever the candidate does.

        Returns:
            The outcome. If its `lost` is true, the worker has been closed.
        """
        began = time.monotonic()
        cases: dict[int, CaseOutcome] = {}
        broken: str | None = None
        done: dict[str, object] = {}
        log = fault = lost = ""
        stopped = False
        try:
            if self.connection.bounds:
                self.connection.bounds.bound(job.limits, self._held)
            files = sent(job.files) if self.tree is not None else job.files
            if not self._makes_optimizers and "torch" in job.imports and _name_optimizers(files):
                self._preload([_OPTIMIZERS])
                self._makes_optimizers = True
            head = _head(job, files)
            deadline = time.monotonic() + WALL_FACTOR * job.check_seconds + GRACE_SECONDS
            self._send(REQUEST, _request(job, len(head), self.tree))
            self._write(head + job.cases.data)
            while not done:
                kind, case, payload = self._receive(deadline)
                if kind == DONE:
                    done = json.loads(payload)
                elif kind == LOG:
                    log = payload.decode("utf-8", "replace")
                elif kind == BROKEN:
                    broken = _text(payload)
                elif kind == FAULT:
                    fault = _text(payload)
                elif kind in _STATUS:
                    cases[case] = _outcome(kind, payload)
                    if job.ends_with is not None and not stopped and job.ends_with(case, cases[case]):
                        stopped = True
                        self._send(STOP, None)
        except WorkerLostError as error:
            lost = f"the sandbox ended: {self._diagnosis(error)}"
        except (ValueError, RecursionError) as error:
            lost = f"the sandbox sent an invalid answer: {self._diagnosis(error)}"
        count = len(job.observed)
        if lost and len(cases) < count:
            cases[max(cases, default=-1) + 1] = CaseOutcome("died", message=lost)
        if done and not done["clean"]:
            self.close()
        return Outcome(
            cases=tuple(cases.get(index, CaseOutcome("missing")) for index in range(count)),
            broken=broken,
            lost=bool(lost),
            fault=fault,
            log=log,
            seconds=time.monotonic() - began,
            processor_seconds=float(str(done.get("processor_seconds", 0))),
            peak_mb=float(str(done.get("peak_kb", 0))) / 1024,
        )

    def kill(self) -> None:
        """Kill the worker immediately; the job that it is running is lost. May be called from any thread."""
        self.connection.kill()

    def close(self) -> None:
        """End the worker and all processes in its sandbox. May be called more than once."""
        self.alive = False
        self.connection.close()

    def _preload(self, modules: Sequence[str]) -> None:
        """Make the worker import modules, so that the processes that it forks for later jobs need not import them.

        Raises:
            WorkerLostError: The worker does not answer.
        """
        self._send(PRELOAD, modules)
        if self._receive(time.monotonic() + START_SECONDS).kind != READY:
            raise WorkerLostError("it sent an unexpected answer")
        self._held = self.connection.bounds.held() if self.connection.bounds else 0

    def _send(self, kind: int, message: object) -> None:
        self._write(pack(kind, -1, json.dumps(message).encode()))

    def _write(self, data: bytes) -> None:
        try:
            self.connection.write(data)
        except OSError as error:
            raise WorkerLostError("it closed the connection") from error

    def _receive(self, deadline: float) -> Frame:
        while (frame := next(self._frames, None)) is None:
            left = deadline - time.monotonic()
            data = self.connection.read(left) if left > 0 else None
            if data is None:
                raise WorkerLostError("it did not answer in time")
            if not data:
                raise WorkerLostError("it closed the connection")
            self._frames = self._reader.feed(data)
        return frame

    def _diagnosis(self, error: Exception) -> str:
        """Close the worker. Return the error's message, followed by the last line of the worker's standard error."""
        self.kill()
        words = self.connection.last_words()
        self.close()
        last = words.decode("utf-8", "replace").strip().splitlines()[-1:]
        return ": ".join([str(error), *last])


def _name_optimizers(files: Mapping[str, bytes]) -> bool:
    return any(re.search(rb"\boptim\b", data) for path, data in files.items() if path.endswith(".py"))


def _head(job: Job, files: Mapping[str, bytes]) -> bytes:
    encoded = {name: base64.b64encode(data).decode("ascii") for name, data in files.items()}
    head = {"files": encoded, "observe": job.observe, "numbers": job.observed, "random_seed": job.random_seed}
    return json.dumps(head).encode()


def _request(job: Job, head_bytes: int, tree: Path | None) -> dict[str, object]:
    return {
        "tree": None if tree is None else str(tree),
        "head_bytes": head_bytes,
        "cases_bytes": len(job.cases.data),
        "count": len(job.observed),
        "limits": job.limits.model_dump(),
        "check_seconds": job.check_seconds,
        "case_seconds": None if job.case_seconds is None else list(job.case_seconds),
        "wall_factor": WALL_FACTOR,
    }


def _text(payload: bytes) -> str:
    return payload.decode("utf-8", "replace")[-_MOST_CHARACTERS:]


def _outcome(kind: int, payload: bytes) -> CaseOutcome:
    if kind == OBSERVED and len(payload) >= _SECONDS.size:
        # A candidate can forge these numbers. Implausible ones become 0, so that no record contains NaN or infinity.
        seconds, by_clock = (item if 0 <= item < _MOST_SECONDS else 0.0 for item in _SECONDS.unpack_from(payload))
        return CaseOutcome("observed", payload=payload[_SECONDS.size :], seconds=seconds, seconds_by_clock=by_clock)
    if kind == OBSERVED:
        return CaseOutcome("raised", message="not an encoded observation: too short")
    return CaseOutcome(_STATUS[kind], message=_text(payload))
