"""Which back ends are there? Those that come with lmrbench, and those that other packages bring.

A package brings one by an entry point of the group `lmrbench.sandboxes`: its name, and a class that is called with the
folders which no worker may see and gives a `protocol.Sandbox`. Commands, tests and the library open their pools here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from lmrbench.errors import SandboxError, UsageError
from lmrbench.sandbox.backends.bubblewrap import BubblewrapSandbox
from lmrbench.sandbox.backends.process import ProcessSandbox
from lmrbench.sandbox.pool import LocalPool
from lmrbench.sandbox.protocol import LOCAL, Executor, Sandbox

if TYPE_CHECKING:
    from lmrbench.sandbox.cluster import ClusterPool

GROUP = "lmrbench.sandboxes"


def _docker(secrets: Sequence[Path]) -> Sandbox:
    try:
        from lmrbench.sandbox.backends.docker import DockerSandbox
    except ModuleNotFoundError as error:
        raise SandboxError(f"the sandbox docker needs {error.name}: pip install 'lmrbench[docker]'") from error
    return DockerSandbox(secrets)


_OWN: dict[str, Callable[[Sequence[Path]], Sandbox]] = {
    "bubblewrap": BubblewrapSandbox,
    "docker": _docker,
    "process": ProcessSandbox,
}


def sandbox_names() -> tuple[str, ...]:
    """The names of all back ends, those of lmrbench first."""
    return tuple(dict.fromkeys([*_OWN, *sorted(entry_points(group=GROUP).names)]))


def make_sandbox(name: str, secrets: Sequence[Path]) -> Sandbox:
    """The back end of that name; `secrets` are folders that it must not show. Raises SandboxError for another name."""
    if name in _OWN:
        return _OWN[name](secrets)
    if name not in sandbox_names():
        raise SandboxError(f"there is no sandbox {name!r}; there are {', '.join(sandbox_names())}")
    (found, *_) = entry_points(group=GROUP, name=name)
    try:
        sandbox: Sandbox = found.load()(secrets)
    except Exception as error:
        raise SandboxError(f"the sandbox {name!r} of {found.value} can't be loaded: {error}") from error
    return sandbox


def open_pool(
    name: str,
    secrets: Sequence[Path],
    workers: int | None = None,
    isolate: bool = False,
    shared: bool = False,
    kept: int = 1,
) -> LocalPool:
    """Warm workers of the back end of that name; see `LocalPool`."""
    return LocalPool(make_sandbox(name, secrets), workers, isolate, shared, kept)


def open_executor(
    executor: Executor,
    name: str,
    secrets: Sequence[Path],
    workers: int | None = None,
    isolate: bool = False,
    shared: bool = False,
) -> LocalPool | ClusterPool:
    """Warm workers where the executor says: on this machine, or on a cluster; see `LocalPool` and `ClusterPool`.

    Raises SandboxError where Ray is not installed or there is no cluster.
    """
    if executor.kind == "local":
        return open_pool(name, secrets, workers, isolate, shared)
    try:
        from lmrbench.sandbox.cluster import ClusterPool
    except ModuleNotFoundError as error:
        raise SandboxError(f"the executor ray needs {error.name}: pip install 'lmrbench[ray]'") from error
    return ClusterPool(make_sandbox(name, secrets), secrets, workers, isolate, shared, executor.address)


def executor_of(kind: str, address: str | None) -> Executor:
    """Return what --executor and --address ask for. Raises UsageError if they do not fit."""
    if kind == "ray":
        return Executor("ray", address)
    if kind != "local":
        raise UsageError(f"--executor {kind}: there are local and ray")
    if address is not None:
        raise UsageError("--address is for --executor ray")
    return LOCAL
