"""The host's side of one warm worker: start it, give it jobs, take what comes back, and believe none of it.

A worker that hangs or dies is the candidate's doing once it had started well: the job is answered with what arrived
until then, and the worker is gone. A worker that does not start at all is the machine's fault: SandboxError.
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

START_SECONDS = 120.0
# What the worker may take to kill and clean up after a job, beyond the job's own time.
GRACE_SECONDS = 20.0
# The first optimizer that a process makes imports as much again as torch itself, in about a second.
_OPTIMIZERS = "torch.optim"
_MAX_FRAME = 1 << 30
_MOST_SECONDS = 1e6
_MOST_CHARACTERS = 4000
_SECONDS = struct.Struct("<dd")
_STATUS: dict[int, CaseStatus] = {OBSERVED: "observed", RAISED: "raised", TIMED_OUT: "timeout", DIED: "died"}


class WorkerLostError(Exception):
    """The worker ended or fell silent."""


class WarmWorker:
    """A worker that runs the worker program. Raises SandboxError where it does not start well.

    sandbox: the name of its back end. tree: where the worker sees the folder of files that need not be sent.
    """

    def __init__(self, sandbox: str, connection: Connection, imports: Sequence[str], tree: Path | None = None) -> None:
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
        """Run one job to its end, whatever the candidate does; `alive` then tells whether the worker is left."""
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
            lost = f"the sandbox sent what is no answer: {self._diagnosis(error)}"
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
        """End the worker at once, from any thread; a job that it runs comes back as lost."""
        self.connection.kill()

    def close(self) -> None:
        """End the worker and all that runs in its sandbox; safe to call twice."""
        self.alive = False
        self.connection.close()

    def _preload(self, modules: Sequence[str]) -> None:
        """Have the worker import modules for all children to come. Raises WorkerLostError where it doesn't."""
        self._send(PRELOAD, modules)
        if self._receive(time.monotonic() + START_SECONDS).kind != READY:
            raise WorkerLostError("it answered out of turn")
        self._held = self.connection.bounds.held() if self.connection.bounds else 0

    def _send(self, kind: int, message: object) -> None:
        self._write(pack(kind, -1, json.dumps(message).encode()))

    def _write(self, data: bytes) -> None:
        try:
            self.connection.write(data)
        except OSError as error:
            raise WorkerLostError("it hung up") from error

    def _receive(self, deadline: float) -> Frame:
        while (frame := next(self._frames, None)) is None:
            left = deadline - time.monotonic()
            data = self.connection.read(left) if left > 0 else None
            if data is None:
                raise WorkerLostError("it fell silent")
            if not data:
                raise WorkerLostError("it hung up")
            self._frames = self._reader.feed(data)
        return frame

    def _diagnosis(self, error: Exception) -> str:
        """What went wrong, with the last words of the worker's own error output; the worker is closed."""
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
        # The candidate's word too: NaN and the like must not get into a record.
        seconds, by_clock = (item if 0 <= item < _MOST_SECONDS else 0.0 for item in _SECONDS.unpack_from(payload))
        return CaseOutcome("observed", payload=payload[_SECONDS.size :], seconds=seconds, seconds_by_clock=by_clock)
    if kind == OBSERVED:
        return CaseOutcome("raised", message="not an encoded observation: too short")
    return CaseOutcome(_STATUS[kind], message=_text(payload))
