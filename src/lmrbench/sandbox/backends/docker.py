"""The `docker` back end: each worker (the process that runs untrusted code) is in a container of its own.

The image contains the interpreter, the worker program and the packages. A container has neither network nor
capabilities. It has a user of its own, a read-only root file system, two private folders in memory, and limits on
memory and processes. The machine-wide entries of /proc are hidden. A container ends and is removed when lmrbench closes
the connection; if that fails, a later run of lmrbench removes it.
"""

from __future__ import annotations

import contextlib
import os
import platform
import select
import socket
import struct
import sys
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from secrets import randbelow
from typing import Any

from docker.errors import APIError, DockerException, NotFound
from docker.types import DeviceRequest, Ulimit
from requests.exceptions import RequestException

from lmrbench.errors import SandboxError
from lmrbench.progress import is_quiet
from lmrbench.sandbox.backends.images import connect, image_for, is_podman
from lmrbench.sandbox.protocol import Sandbox
from lmrbench.sandbox.variables import INTERPRETER_OPTIONS, variables
from lmrbench.sandbox.warm_worker import WarmWorker
from lmrbench.tasks.model import Limits

GPU_VARIABLE = "LMRBENCH_DOCKER_GPUS"
_KIND, _NODE, _PROCESS = "lmrbench.worker", "lmrbench.node", "lmrbench.process"
_SCRATCH_BYTES = 1 << 30
_FIRST_USER_ID, _USER_IDS = 1_000_000_000, 2**30
_MOST_PROCESSES = 1024
_RLIMITS = {"nofile": 16_384, "nproc": _MOST_PROCESSES}
_OWN_BYTES = 64 << 20
# The memory limit while a worker imports packages, before it has a job.
_START_BYTES = 4 << 30
# The entries of /proc that are not masked. Libraries read cpuinfo to select code for the processor.
_KEPT_IN_PROC = {"cpuinfo", "filesystems", "version", "self", "thread-self", "mounts", "net"}
_STDOUT, _STDERR = 1, 2
_FRAME = struct.Struct(">BxxxI")
_MOST_WORDS = 1 << 16


class DockerSandbox(Sandbox):
    """Starts workers in containers.

    If the Docker Engine runs on this machine, trees (folders with files of a repository) are mounted in the container,
    so their files need not be sent to the worker.
    """

    name = "docker"
    advice = (
        "start the Docker Engine (20.10 or newer) or set DOCKER_HOST, and allow this user to use it; where Docker Hub "
        "can't be reached, set LMRBENCH_BASE_IMAGE to a base image with Python; see docs/docker.md"
    )

    def __init__(self, secrets: Sequence[Path] = ()) -> None:
        """Create the sandbox.

        `secrets`, the folders to hide from workers, is ignored: a container has no access to folders that could contain
        them.
        """
        self._tags: dict[tuple[tuple[str, ...], Path | None], str] = {}

    @cached_property
    def _client(self) -> Any:
        client = connect()
        _sweep(client)
        return client

    def start(self, imports: Sequence[str], tree: Path | None = None, environment: Path | None = None) -> WarmWorker:
        """Start a worker in a container, and build its image if it is missing; see `protocol.Sandbox`."""
        key = (tuple(imports), environment)
        if key not in self._tags:
            self._tags[key] = image_for(self._client, imports, environment, told=_tell)
        shown = tree if tree is not None and _is_local(self._client) else None
        place = None if shown is None else f"/trees/{shown.name}"
        try:
            connection = ContainerConnection(self._tags[key], shown, place)
        except (DockerException, RequestException) as error:
            raise SandboxError(f"the docker sandbox did not start: {error}") from error
        return WarmWorker(self.name, connection, imports, None if place is None else Path(place))


class ContainerConnection:
    """A connection to a worker in a container; see `connection.Connection`."""

    def __init__(self, image: str, tree: Path | None, place: str | None) -> None:
        """Create and start a container.

        Args:
            image: The tag of the container's image.
            tree: A folder of this machine to mount in the container, or None.
            place: The path of that folder in the container, or None if no folder is mounted.
        """
        # Each connection has its own client, because threads must not share a client.
        self.client = connect()
        self.container = _create(self.client, image, tree, place)
        self.bounds = ContainerBounds(self.client.api, self.container)
        self._words = b""
        self._data = bytearray()
        streams = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        attached = self.client.api.attach_socket(self.container, params=streams)
        self.socket: socket.socket = getattr(attached, "_sock", attached)
        self._attached = attached
        self.client.api.start(self.container)

    def write(self, data: bytes) -> None:
        """Send bytes to the worker's standard input."""
        self.socket.sendall(data)

    def read(self, seconds: float) -> bytes | None:
        """Read from the worker's standard output, and store what arrives on its standard error for `last_words`.

        Returns:
            Some bytes; b"" at the end of the stream; None if nothing arrives within `seconds`.
        """
        deadline = time.monotonic() + seconds
        while True:
            if len(self._data) >= _FRAME.size:
                stream, length = _FRAME.unpack_from(self._data)
                if len(self._data) >= _FRAME.size + length:
                    payload = bytes(self._data[_FRAME.size : _FRAME.size + length])
                    del self._data[: _FRAME.size + length]
                    if stream == _STDOUT and payload:
                        return payload
                    if stream == _STDERR:
                        self._words = (self._words + payload)[-_MOST_WORDS:]
                    continue
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.socket], [], [], left)[0]:
                return None
            data = self.socket.recv(1 << 20)
            if not data:
                return b""
            self._data += data

    def kill(self) -> None:
        """Kill the container at once."""
        # A new client is used, because another thread may call this method.
        with contextlib.suppress(SandboxError, DockerException, RequestException):
            client = connect()
            with contextlib.closing(client.api):
                client.api.kill(self.container)

    def last_words(self) -> bytes:
        """Return the worker's output on standard error."""
        with contextlib.suppress(OSError):
            while self.read(1.0):
                pass
        return self._words

    def close(self) -> None:
        """Remove the container, and close the client."""
        with contextlib.suppress(OSError):
            self._attached.close()
        # The container may be removing itself at the same time.
        with contextlib.suppress(DockerException, RequestException):
            self.client.api.remove_container(self.container, force=True, v=True)
        with contextlib.suppress(DockerException, RequestException):
            self.client.close()


class ContainerBounds:
    """The Engine's memory limit of a container; see `connection.WorkerBounds`."""

    def __init__(self, api: Any, container: str) -> None:
        """Store the Engine's API client and the id of the container."""
        self.api = api
        self.container = container
        self._bound = _START_BYTES

    def held(self) -> int:
        """Return the memory that the container uses now, in bytes."""
        found = self.api.stats(self.container, stream=False, one_shot=True)
        return int(found.get("memory_stats", {}).get("usage", 0))

    def bound(self, limits: Limits, held: int) -> None:
        """Set the container's memory limit for a job.

        The container's limit on processes is fixed; each child that runs a candidate sets a lower limit for itself.

        Args:
            limits: The limits of the job.
            held: The memory that the worker used before the job, in bytes. It is added to the job's limit.

        Raises:
            SandboxError: The Engine cannot raise the limit of a running container.
        """
        memory = held + (limits.memory_mb + limits.disk_mb + limits.output_mb << 20) + _OWN_BYTES
        if memory != self._bound:
            try:
                self.api.update_container(self.container, mem_limit=memory, memswap_limit=memory)
            except NotFound as error:
                # Podman can't change the limit, so a job can run only if it needs no more than the first limit.
                if memory > _START_BYTES:
                    raise SandboxError(f"the Engine can't raise the memory limit to {memory >> 20} MB") from error
            self._bound = memory


def _create(client: Any, image: str, tree: Path | None, place: str | None) -> str:
    """Create a container without starting it, and return its id."""
    user = _FIRST_USER_ID + randbelow(_USER_IDS)
    masked = ["/sys", *_machine_in_proc()]
    settings = client.api.create_host_config(
        auto_remove=True,
        network_mode="none",
        read_only=True,
        cap_drop=["ALL"],
        # Podman accepts masked paths only in this option, which Docker refuses.
        security_opt=["no-new-privileges", *([f"mask={':'.join(masked)}"] if is_podman(client) else [])],
        ipc_mode="private",
        shm_size=_SCRATCH_BYTES,
        # Podman makes /var/tmp writable unless something is mounted there.
        tmpfs={"/tmp": f"rw,exec,nosuid,nodev,mode=1777,size={_SCRATCH_BYTES}", "/var/tmp": "ro,size=4k"},
        mem_limit=_START_BYTES,
        memswap_limit=_START_BYTES,
        pids_limit=_MOST_PROCESSES,
        # If the machine runs out of memory, the kernel kills a container before lmrbench.
        oom_score_adj=500,
        # Set explicitly, because Podman's defaults may exceed the limits of the user who runs it.
        ulimits=[Ulimit(name=name, soft=most, hard=most) for name, most in _RLIMITS.items()],
        log_config={"Type": "none"},
        binds={} if tree is None else {str(tree): {"bind": place, "mode": "ro"}},
        device_requests=[DeviceRequest(count=-1, capabilities=[["gpu"]])] if os.environ.get(GPU_VARIABLE) else None,
    )
    settings["MaskedPaths"] = masked
    settings["ReadonlyPaths"] = ["/proc/sys", "/proc/irq", "/proc/bus"]
    made = client.api.create_container(
        image,
        [*INTERPRETER_OPTIONS, "-m", "inside.worker", "--own-namespace", "--folders", "/tmp", "/dev/shm"],
        hostname="sandbox",
        user=f"{user}:{user}",
        stdin_open=True,
        environment=variables(("/worker", "/packages"), "/tmp"),
        working_dir="/",
        labels={_KIND: "1", _NODE: platform.node(), _PROCESS: _process(os.getpid())},
        network_disabled=True,
        host_config=settings,
    )
    return str(made["Id"])


def _machine_in_proc() -> list[str]:
    """Return the machine-wide paths of /proc, whose counters would reveal the activity of one sandbox to another."""
    names = (entry.name for entry in os.scandir("/proc") if not entry.is_symlink())
    return [f"/proc/{name}" for name in sorted(names) if not name.isdigit() and name not in _KEPT_IN_PROC]


def _process(number: int) -> str:
    """Return a string that identifies a process: its id, its start time and the machine's boot id.

    The id alone is not enough, because ids are reused. Returns "" if there is no such process.
    """
    try:
        began = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""
    return f"{number} {began} {Path('/proc/sys/kernel/random/boot_id').read_text().strip()}"


def _sweep(client: Any) -> None:
    """Remove the containers that killed runs of lmrbench have left behind on this machine."""
    with contextlib.suppress(APIError, RequestException):
        for item in client.containers.list(all=True, filters={"label": [_KIND, f"{_NODE}={platform.node()}"]}):
            started_by = item.labels[_PROCESS]
            if started_by != _process(int(started_by.split()[0])):
                with contextlib.suppress(APIError, RequestException):
                    item.remove(force=True, v=True)


def _is_local(client: Any) -> bool:
    return str(client.api.base_url).startswith("http+docker://")


def _tell(line: str) -> None:
    if not is_quiet():
        print(f"lmrbench: {line}", file=sys.stderr, flush=True)
