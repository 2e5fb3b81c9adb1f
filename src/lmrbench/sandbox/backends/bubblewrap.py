"""The `bubblewrap` back end, the default on Linux: namespaces in which there is nothing to find and nobody to call.

A worker has its own mount, process, network, IPC and host-name namespaces, and a user namespace or, where lmrbench
runs as root, a user id of its own. It sees the system's libraries, the interpreter and the packages that the tasks
import, all read-only, and two small private folders to write in. It sees no home, no other packages, no suite and no
environment.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from secrets import randbelow

from lmrbench.errors import SandboxError, UsageError
from lmrbench.sandbox.cgroup import new_group
from lmrbench.sandbox.connection import ProcessConnection
from lmrbench.sandbox.packages import importable_paths
from lmrbench.sandbox.variables import INTERPRETER_OPTIONS, WORKER_PROGRAM, interpreter, variables
from lmrbench.sandbox.warm_worker import WarmWorker

_FIRST_USER_ID, _USER_IDS = 1_000_000_000, 2**30
_LIBRARY_FOLDERS = ("/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/bin")
# What bwrap says where it may make no namespaces.
_FORBIDDEN = ("setting up uid map", "RTM_NEWADDR", "namespace failed", "create new namespace", "namespaces")
_ALLOW = (
    "on Ubuntu 23.10 or newer, where kernel.apparmor_restrict_unprivileged_userns is 1, install an AppArmor profile "
    "for bwrap (docs/questions.md has one) or run sysctl -w kernel.apparmor_restrict_unprivileged_userns=0; on Debian "
    "run sysctl -w kernel.unprivileged_userns_clone=1"
)
_PACKAGES = {"site-packages", "dist-packages", "node_modules"}
_TREES = "/trees"
_ALIASES = ("/lib", "/lib32", "/lib64", "/bin")
_CONFIGURATION = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives")


@dataclass(frozen=True)
class Layout:
    """What a sandbox sees besides libraries and interpreter.

    imports: packages, shown in /packages. environment: where they are taken from, if not from lmrbench's own. files:
    folders in the sandbox, and what is shown there under its own name. writable: private folders in memory, of at most
    `writable_bytes` each. system: further folders of this machine's programs, without installed packages. shown:
    folders that a user names, whole. links: places, and what they point to. whole_proc: show in /proc, besides
    processes, what the kernel tells of the machine.
    """

    imports: Sequence[str]
    files: Sequence[tuple[str, Path]]
    writable: Sequence[str]
    writable_bytes: int = 1 << 30
    system: Sequence[str] = ()
    shown: Sequence[str] = ()
    links: Sequence[tuple[str, str]] = ()
    whole_proc: bool = False
    environment: Path | None = None


def with_advice(said: str) -> str:
    """What bubblewrap said, with what to do about it where the kernel forbids its namespaces."""
    return f"{said}. What to do: {_ALLOW}" if any(words in said for words in _FORBIDDEN) else said


def new_user() -> int | None:
    """Where lmrbench runs as root, a user id that nobody else has: root escapes the bound on its processes."""
    return _FIRST_USER_ID + randbelow(_USER_IDS) if os.geteuid() == 0 else None


def refuse_secret(shown: Iterable[Path], secrets: Iterable[Path]) -> None:
    """Raises UsageError for a folder to show that lies in a secret one, and so could not be hidden within it."""
    for path in shown:
        for secret in secrets:
            if path.resolve().is_relative_to(secret.resolve()):
                raise UsageError(f"{path} can't be shown in a sandbox: it lies in {secret}, which may hold answers")


class BubblewrapSandbox:
    """Starts workers under bwrap. secrets: folders that no sandbox may show, such as the suite's."""

    name = "bubblewrap"
    advice = (
        "install bubblewrap 0.8 or newer (apt-get install bubblewrap); as a user other than root, user namespaces must "
        f"be allowed: {_ALLOW}"
    )

    def __init__(self, secrets: Sequence[Path] = ()) -> None:
        self.secrets = tuple(path.resolve() for path in (*secrets, WORKER_PROGRAM.parents[1]))

    def start(self, imports: Sequence[str], tree: Path | None = None, environment: Path | None = None) -> WarmWorker:
        """Start a worker as process 1 of its namespaces."""
        worker = ["-m", "inside.worker", "--own-namespace", "--folders", "/tmp", "/dev/shm"]
        shown = [("/worker", WORKER_PROGRAM), *([] if tree is None else [(_TREES, tree)])]
        layout = Layout(imports, shown, ("/tmp", "/dev/shm"), environment=environment)
        command = self.command(worker, layout, variables(("/worker", "/packages"), "/tmp"), new_user())
        group = new_group()
        process = subprocess.Popen(
            group.command(command) if group else command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Ctrl-C in the terminal is for lmrbench to handle.
            start_new_session=True,
        )
        shown_tree = None if tree is None else Path(_TREES, tree.name)
        try:
            return WarmWorker(self.name, ProcessConnection(process, bounds=group), imports, shown_tree)
        except SandboxError as error:
            raise SandboxError(with_advice(str(error))) from error

    def command(
        self, program: Sequence[str], layout: Layout, environment: Mapping[str, str], user: int | None
    ) -> list[str]:
        """The command line that runs a Python program as process 1 of new namespaces.

        user: of `new_user`; the program gets it as `--user NUMBER`, and has to become that user. Raises SandboxError
        where bubblewrap is not installed, UsageError for a folder to show that lies inside a secret one.
        """
        bwrap = shutil.which("bwrap")
        if bwrap is None:
            raise SandboxError(
                "bubblewrap is not installed: apt-get install bubblewrap (or your distribution's package)"
            )
        program = [str(interpreter()), *INTERPRETER_OPTIONS, *program]
        if user is None:
            users = ["--unshare-user"]
        else:
            users = ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
            program += ["--user", str(user)]
        settings = [word for name, value in environment.items() for word in ("--setenv", name, value)]
        inside = [*_ISOLATION, *users, *self._mounts(layout), "--clearenv", *settings]
        return [*_FIRST_TO_END, bwrap, *inside, "--", *program]

    def _mounts(self, layout: Layout) -> Iterator[str]:
        system = [Path(folder) for folder in (*_LIBRARY_FOLDERS, *layout.system) if Path(folder).is_dir()]
        library = Path(sys.base_prefix) / "lib"
        if not any(library.is_relative_to(folder) for folder in system):
            system.append(library)
        if not any(interpreter().is_relative_to(folder) for folder in system):
            system.append(interpreter())
        packages = {path for folder in system for path in installed_packages(folder)}
        yield from self._show(system, packages)
        for name in ("/etc", "/packages", "/worker", _TREES):
            yield from ("--perms", "0755", "--dir", name)
        for alias in _ALIASES:
            if Path(alias).is_symlink():
                yield from ("--symlink", os.readlink(alias), alias)
            else:
                yield from ("--ro-bind-try", alias, alias)
        for file in _CONFIGURATION:
            yield from ("--ro-bind-try", file, file)
        for name, path in importable_paths(layout.imports, layout.environment).items():
            yield from ("--ro-bind", str(path), f"/packages/{name}")
        for place, path in layout.files:
            yield from ("--ro-bind", str(path), f"{place}/{path.name}")
        yield from _open_parents(Path(place) for place, _ in layout.links)
        for place, target in layout.links:
            yield from ("--symlink", target, place)
        yield from ("--proc", "/proc")
        if not layout.whole_proc:
            yield from _hide_machine()
            # A process could change there when the kernel ends it, and what its peak of memory was.
            yield from ("--remount-ro", "/proc")
        yield from ("--tmpfs", "/dev", "--symlink", "/proc/self/fd", "/dev/fd")
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            yield from ("--symlink", f"/proc/self/fd/{number}", f"/dev/{name}")
        # No /dev/zero: shared mappings of it are memory that nobody is charged for.
        for name in ("null", "full", "random", "urandom"):
            yield from ("--dev-bind", f"/dev/{name}", f"/dev/{name}")
        for name in layout.writable:
            yield from ("--perms", "1777", "--size", str(layout.writable_bytes), "--tmpfs", name)
        # After the private folders, which would cover what is shown below them.
        shown = [Path(folder) for folder in layout.shown if Path(folder).is_dir()]
        yield from self._show(shown)
        # Not before, as some of what is shown may lie in them.
        for folder in _outermost(packages):
            if not any(folder.is_relative_to(path) for path in shown):
                yield from ("--remount-ro", str(folder))
        # What bwrap itself laid out would otherwise be a writable file system without a bound.
        yield from ("--remount-ro", "/dev", "--remount-ro", "/")

    def _show(self, paths: Sequence[Path], packages: Iterable[Path] = ()) -> Iterator[str]:
        """Show folders, in which secrets appear empty and read-only, and these packages empty."""
        refuse_secret(paths, self.secrets)
        yield from _open_parents(paths)
        for path in paths:
            yield from ("--ro-bind", str(path), str(path))
        for folder in _outermost(packages):
            yield from ("--tmpfs", str(folder))
        for folder in _outermost(self._secrets_below(paths)):
            yield from ("--tmpfs", str(folder), "--remount-ro", str(folder))

    def _secrets_below(self, shown: Sequence[Path]) -> Iterator[Path]:
        for folder in shown:
            # A folder is shown under the name that it was given, which may lead elsewhere by links.
            place = folder.resolve()
            below = (path for path in self.secrets if path.is_relative_to(place) and path.is_dir())
            yield from (folder / path.relative_to(place) for path in below)


@cache
def installed_packages(folder: Path) -> tuple[Path, ...]:
    """The folders of Python's and Node's packages below a folder, at any depth, looked for once in a process."""
    found: list[Path] = []
    waiting = [str(folder)]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            folders = {entry.name: entry.path for entry in entries if entry.is_dir(follow_symlinks=False)}
            # Of conda, which keeps the packages that it installs beside its environments.
            packages = _PACKAGES | {"pkgs"} if "conda-meta" in folders else _PACKAGES
            found += [Path(path) for name, path in folders.items() if name in packages]
            waiting += [path for name, path in folders.items() if name not in packages]
    return tuple(found)


def _outermost(folders: Iterable[Path]) -> list[Path]:
    """These folders without those that lie in another of them."""
    every = set(folders)
    return sorted(path for path in every if not every & set(path.parents))


def _open_parents(paths: Iterable[Path]) -> Iterator[str]:
    """Folders that bwrap makes by itself on the way to a mount point would be closed to the sandbox's own user."""
    for parent in dict.fromkeys(parent for path in paths for parent in reversed(path.parents[:-1])):
        yield from ("--perms", "0755", "--dir", str(parent))


def _hide_machine() -> Iterator[str]:
    """What /proc tells of the whole machine: by its counters one sandbox would notice what another does."""
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() or entry.is_symlink() or entry.name in _KEPT_IN_PROC:
            continue
        if not entry.stat().st_mode & stat.S_IROTH:
            continue
        if entry.is_dir():
            yield from ("--tmpfs", entry.path, "--remount-ro", entry.path)
        else:
            yield from ("--ro-bind", "/dev/null", entry.path)


# Where memory runs out the kernel is to end a sandbox, and not lmrbench.
_FIRST_TO_END = ("/bin/sh", "-c", '{ echo 500 >/proc/self/oom_score_adj; } 2>/dev/null; exec "$@"', "sh")
# Libraries choose their code by the processor.
_KEPT_IN_PROC = {"cpuinfo", "filesystems", "version"}
_ISOLATION = (
    *("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--as-pid-1", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox", "--chdir", "/"),
)
