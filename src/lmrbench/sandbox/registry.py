"""The registry of sandbox back ends, and functions that open worker pools.

Back ends, such as bubblewrap or docker, isolate untrusted code. They come with lmrbench or from other packages. To add
a back end, a package defines an entry point in the group `lmrbench.sandboxes`, under the name of the back end. The
entry point refers to a class that implements `protocol.Sandbox`. lmrbench calls this class with the folders to hide
from all workers, the sandboxed processes that run the code.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from lmrbench.errors import LmrbenchError, SandboxError, UsageError
from lmrbench.progress import is_quiet
from lmrbench.sandbox.backends.bubblewrap import BubblewrapSandbox
from lmrbench.sandbox.backends.landlock import LandlockSandbox
from lmrbench.sandbox.backends.process import ProcessSandbox
from lmrbench.sandbox.pool import LocalPool
from lmrbench.sandbox.protocol import DEFAULT_SANDBOX, LOCAL, Executor, Sandbox
from lmrbench.text import did_you_mean

if TYPE_CHECKING:
    from lmrbench.sandbox.cluster import ClusterPool

GROUP = "lmrbench.sandboxes"


def _docker(secrets: Sequence[Path]) -> Sandbox:
    try:
        from lmrbench.sandbox.backends.docker import DockerSandbox
    except ModuleNotFoundError as error:
        raise SandboxError(
            f"the sandbox docker needs {error.name}, which is not installed; pip install 'lmrbench[docker]'"
        ) from error
    return DockerSandbox(secrets)


_OWN: dict[str, Callable[[Sequence[Path]], Sandbox]] = {
    "bubblewrap": BubblewrapSandbox,
    "landlock": LandlockSandbox,
    "docker": _docker,
    "process": ProcessSandbox,
}
# The back ends that `auto` tries, in this order.
PREFERRED = ("bubblewrap", "landlock", "docker")


def sandbox_names() -> tuple[str, ...]:
    """Return the names of all back ends, those of lmrbench first."""
    return tuple(dict.fromkeys([*_OWN, *sorted(entry_points(group=GROUP).names)]))


def require_sandbox(name: str) -> None:
    """Check that a back end with this name exists, without loading it. The name `auto` is accepted, too.

    Raises:
        SandboxError: There is no back end with this name.
    """
    if name != DEFAULT_SANDBOX and name not in _OWN and name not in sandbox_names():
        guess = did_you_mean(name, sandbox_names()) or f"; use auto or one of {', '.join(sandbox_names())}"
        raise SandboxError(f"there is no sandbox {name!r}{guess}")


def sandbox_name(name: str) -> str:
    """Resolve `auto` to the first back end of `PREFERRED` that works on this machine; return other names unchanged.

    Raises:
        SandboxError: The name is `auto`, and none of these back ends works. The message gives the reason for each.
    """
    return first_that_works() if name == DEFAULT_SANDBOX else name


@cache
def first_that_works() -> str:
    """Return the name of the first back end of `PREFERRED` that can start a worker here; see `sandbox_name`."""
    failures: list[str] = []
    for name in PREFERRED:
        try:
            sandbox = make_sandbox(name, ())
            try:
                sandbox.start(()).close()
            finally:
                sandbox.close()
        except (LmrbenchError, OSError) as error:
            failures.append(f"{name}: {error}")
            continue
        if failures and not is_quiet():
            print(f"lmrbench: using sandbox {name}; not available: {'; '.join(failures)}", file=sys.stderr, flush=True)
        return name
    raise SandboxError("\n".join(["no sandbox works here; run `lmrbench setup doctor` for advice", *failures]))


def make_sandbox(name: str, secrets: Sequence[Path]) -> Sandbox:
    """Create a back end.

    Args:
        name: One of `sandbox_names()`, or `auto`; see `sandbox_name`.
        secrets: The folders to hide from the workers.

    Raises:
        SandboxError: There is no back end with this name, it can't be loaded, or the name is `auto` and no back end
            works.
    """
    name = sandbox_name(name)
    if name in _OWN:
        return _OWN[name](secrets)
    require_sandbox(name)
    (found, *_) = entry_points(group=GROUP, name=name)
    try:
        sandbox: Sandbox = found.load()(secrets)
    except Exception as error:
        raise SandboxError(f"the sandbox {name!r} from {found.value} can't be loaded: {error}") from error
    return sandbox


def open_pool(
    name: str,
    secrets: Sequence[Path],
    workers: int | None = None,
    isolate: bool = False,
    shared: bool = False,
    kept: int = 1,
) -> LocalPool:
    """Open a pool of warm workers on this machine.

    Args:
        name: The back end: one of `sandbox_names()`, or `auto`.
        secrets: The folders to hide from the workers.
        workers: The number of workers; by default the number of cores.
        isolate: See `LocalPool`.
        shared: See `LocalPool`.
        kept: See `LocalPool`.

    Raises:
        SandboxError: There is no back end with this name, or it cannot be loaded.
    """
    return LocalPool(make_sandbox(name, secrets), workers, isolate, shared, kept)


def open_executor(
    executor: Executor,
    name: str,
    secrets: Sequence[Path],
    workers: int | None = None,
    isolate: bool = False,
    shared: bool = False,
    kept: int = 1,
) -> LocalPool | ClusterPool:
    """Open a pool of warm workers on this machine or on a cluster.

    Args:
        executor: The machine or cluster that runs the workers.
        name: The back end: one of `sandbox_names()`, or `auto`.
        secrets: The folders to hide from the workers.
        workers: The number of workers; by default the number of cores.
        isolate: See `LocalPool`.
        shared: See `LocalPool`.
        kept: See `LocalPool`; ignored if the workers run on a cluster.

    Raises:
        SandboxError: The back end cannot be loaded, Ray is not installed, or there is no cluster.
    """
    if executor.kind == "local":
        return open_pool(name, secrets, workers, isolate, shared, kept)
    try:
        from lmrbench.sandbox.cluster import ClusterPool
    except ModuleNotFoundError as error:
        raise SandboxError(
            f"the executor ray needs {error.name}, which is not installed; pip install 'lmrbench[ray]'"
        ) from error
    return ClusterPool(make_sandbox(name, secrets), secrets, workers, isolate, shared, executor.address)


def executor_of(kind: str, address: str | None) -> Executor:
    """Return the executor for the options --executor and --address.

    Raises:
        UsageError: The executor is unknown, or does not support an address.
    """
    if kind == "ray":
        return Executor("ray", address)
    if kind != "local":
        raise UsageError(f"--executor {kind}: unknown executor; use local or ray")
    if address is not None:
        raise UsageError("--address needs --executor ray")
    return LOCAL
