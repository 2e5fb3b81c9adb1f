"""The `bubblewrap` back end, the first choice of `--sandbox auto`: each worker runs in namespaces of its own.

A worker has its own mount, process, network, IPC and host-name namespaces, and a user namespace or, if lmrbench runs
as root, a user id of its own. It sees the system's libraries, the interpreter and the packages that the tasks import,
all read-only, and two private folders in memory that it can write to. It sees no home folder, no other packages, no
suite (tasks and their solutions) and none of the host's environment variables.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from secrets import randbelow

from lmrbench.errors import SandboxError, UsageError
from lmrbench.sandbox.cgroup import ControlGroup, new_group
from lmrbench.sandbox.connection import ProcessConnection
from lmrbench.sandbox.inside.namespaces import machine_entries
from lmrbench.sandbox.packages import importable_paths
from lmrbench.sandbox.protocol import Sandbox
from lmrbench.sandbox.template import CannotForkError, ForkedConnection, Template, TemplateLostError, Templates
from lmrbench.sandbox.variables import INTERPRETER_OPTIONS, WORKER_PROGRAM, interpreter, variables
from lmrbench.sandbox.warm_worker import WarmWorker

_FIRST_USER_ID, _USER_IDS = 1_000_000_000, 2**30
LIBRARY_FOLDERS = ("/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/bin")
# Parts of the messages that bwrap prints if it is not allowed to create namespaces.
_FORBIDDEN = ("setting up uid map", "RTM_NEWADDR", "namespace failed", "create new namespace", "namespaces")
_ALLOW = (
    "on Ubuntu 23.10 or newer, where kernel.apparmor_restrict_unprivileged_userns is 1, install an AppArmor profile "
    "for bwrap (docs/questions.md has one) or run sysctl -w kernel.apparmor_restrict_unprivileged_userns=0; on Debian "
    "run sysctl -w kernel.unprivileged_userns_clone=1"
)
_PACKAGES = {"site-packages", "dist-packages", "node_modules"}
_TREES = "/trees"
_WRITABLE = ("/tmp", "/dev/shm")
_VARIABLES = variables(("/worker", "/packages"), "/tmp")
_ALIASES = ("/lib", "/lib32", "/lib64", "/bin")
CONFIGURATION = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives")


@dataclass(frozen=True)
class Layout:
    """The contents of a sandbox, apart from the system's libraries and the interpreter.

    Attributes:
        imports: The packages to show in /packages, with their requirements.
        files: Pairs of a folder in the sandbox and a path on this machine. The file or folder at this path is shown in
            the folder, under its own name.
        writable: The paths in the sandbox at which private, writable folders in memory are mounted.
        writable_bytes: The size limit of each writable folder.
        system: Further folders with programs of this machine. Installed Python and Node packages in them are hidden.
        shown: Folders to show at the user's request. Packages in them are shown, too.
        links: Pairs of the path of a symbolic link in the sandbox and its target.
        whole_proc: Whether /proc shows machine-wide entries in addition to processes.
        terminals: Whether programs can open pseudo-terminals.
        environment: The folder that contains the packages; None for the installation of lmrbench.
    """

    imports: Sequence[str]
    files: Sequence[tuple[str, Path]]
    writable: Sequence[str]
    writable_bytes: int = 1 << 30
    system: Sequence[str] = ()
    shown: Sequence[str] = ()
    links: Sequence[tuple[str, str]] = ()
    whole_proc: bool = False
    terminals: bool = False
    environment: Path | None = None


def with_advice(said: str) -> str:
    """Return bwrap's message `said`, followed by advice if the message says that the kernel forbids namespaces."""
    return f"{said}. What to do: {_ALLOW}" if any(words in said for words in _FORBIDDEN) else said


def new_user() -> int | None:
    """Return a random user id for a worker if lmrbench runs as root, else None.

    The kernel's limit on processes does not apply to root, so workers need another user.
    """
    return _FIRST_USER_ID + randbelow(_USER_IDS) if os.geteuid() == 0 else None


def refuse_secret(shown: Iterable[Path], secrets: Iterable[Path]) -> None:
    """Check that no folder to show is inside a secret folder.

    Args:
        shown: The folders to show.
        secrets: The folders to hide.

    Raises:
        UsageError: A folder to show is inside a secret folder.
    """
    for path in shown:
        for secret in secrets:
            if path.resolve().is_relative_to(secret.resolve()):
                raise UsageError(f"{path} can't be shown in a sandbox: it is in {secret}, which may contain answers")


class BubblewrapSandbox(Sandbox):
    """Starts workers with bwrap, in namespaces of their own."""

    name = "bubblewrap"
    advice = (
        "install bubblewrap 0.8 or newer (apt-get install bubblewrap); users other than root must be allowed to create "
        f"user namespaces: {_ALLOW}"
    )

    def __init__(self, secrets: Sequence[Path] = ()) -> None:
        """Hide `secrets`, such as the suite's folder, and lmrbench itself from all workers."""
        self.secrets = tuple(path.resolve() for path in (*secrets, WORKER_PROGRAM.parents[1]))
        self._templates = Templates()
        self._can_fork = True

    def start(self, imports: Sequence[str], tree: Path | None = None, environment: Path | None = None) -> WarmWorker:
        """Fork a worker as process 1 of its own namespaces; see `protocol.Sandbox`.

        It is forked from a template, a process that has already imported the packages. If the kernel doesn't allow
        templates to create namespaces, each worker is started by its own bwrap process and imports its packages itself.
        """
        shown = [("/worker", WORKER_PROGRAM), *([] if tree is None else [(_TREES, tree)])]
        layout = Layout(imports, shown, _WRITABLE, environment=environment)
        group = new_group()
        shown_tree = None if tree is None else Path(_TREES, tree.name)
        try:
            connection = self._forked(layout, group) or self._started(layout, group)
            return WarmWorker(self.name, connection, imports, shown_tree)
        except SandboxError as error:
            raise SandboxError(with_advice(str(error))) from error

    def close(self) -> None:
        """End the templates; see `protocol.Sandbox`."""
        self._templates.close()

    def _forked(self, layout: Layout, group: ControlGroup | None) -> ForkedConnection | None:
        """Fork a worker from a template; return None if the kernel does not allow templates to do so."""

        def start() -> Template:
            program = ["-m", "inside.template", "--folders", *_WRITABLE, "--folder-bytes", str(layout.writable_bytes)]
            # The template sees the full /proc. Each worker mounts its own /proc, in which machine-wide entries are
            # hidden.
            command = self.command(program, replace(layout, whole_proc=True), _VARIABLES, new_user(), forks=True)
            return Template(command, layout.imports)

        if not self._can_fork:
            return None
        kind = (tuple(layout.imports), tuple(layout.files), layout.environment)
        try:
            return self._templates.fork(kind, start, new_user(), group)
        except CannotForkError:
            self._can_fork = False
            return None
        except TemplateLostError as error:
            raise SandboxError(f"the {self.name} sandbox did not start: {error}") from error

    def _started(self, layout: Layout, group: ControlGroup | None) -> ProcessConnection:
        """Start a worker in a bwrap process of its own."""
        program = ["-m", "inside.worker", "--own-namespace", "--folders", *_WRITABLE]
        command = self.command(program, layout, _VARIABLES, new_user())
        process = subprocess.Popen(
            group.command(command) if group else command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A new session, so that Ctrl-C in the terminal reaches only lmrbench and not this process.
            start_new_session=True,
        )
        return ProcessConnection(process, bounds=group)

    def command(
        self,
        program: Sequence[str],
        layout: Layout,
        environment: Mapping[str, str],
        user: int | None,
        *,
        forks: bool = False,
    ) -> list[str]:
        """Return the command line that runs a Python program as process 1 of new namespaces.

        Args:
            program: The arguments of the interpreter.
            layout: The contents of the sandbox.
            environment: All environment variables of the program.
            user: The result of `new_user`. Unless it is None, the option `--user NUMBER` is added to the program's
                arguments, and the program must change to that user.
            forks: Whether the program is a template. If so, `--user` is not added: the program does not change its
                user, so that it can fork workers into new namespaces.

        Raises:
            SandboxError: bubblewrap is not installed.
            UsageError: A folder to show is inside a secret folder.
        """
        bwrap = shutil.which("bwrap")
        if bwrap is None:
            raise SandboxError(
                "bubblewrap is not installed; run apt-get install bubblewrap (or install your distribution's package)"
            )
        program = [str(interpreter()), *INTERPRETER_OPTIONS, *program]
        if user is None:
            users = ["--unshare-user"]
        else:
            capabilities = ["CAP_SETUID", "CAP_SETGID", *(["CAP_SYS_ADMIN"] if forks else [])]
            users = [word for name in capabilities for word in ("--cap-add", name)]
            program += [] if forks else ["--user", str(user)]
        settings = [word for name, value in environment.items() for word in ("--setenv", name, value)]
        inside = [*_ISOLATION, *users, *self._mounts(layout), "--clearenv", *settings]
        return [*FIRST_TO_END, bwrap, *inside, "--", *program]

    def _mounts(self, layout: Layout) -> Iterator[str]:
        system = [Path(folder) for folder in (*LIBRARY_FOLDERS, *layout.system) if Path(folder).is_dir()]
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
        for file in CONFIGURATION:
            yield from ("--ro-bind-try", file, file)
        for name, path in importable_paths(layout.imports, layout.environment).items():
            if packages & set(path.parents):
                # The package is shown at its own path, and /packages contains a link to it, because Debian's packages
                # contain relative links to libraries.
                yield from ("--ro-bind", str(path), str(path), "--symlink", str(path), f"/packages/{name}")
            else:
                yield from ("--ro-bind", str(path), f"/packages/{name}")
        for place, path in layout.files:
            yield from ("--ro-bind", str(path), f"{place}/{path.name}")
        yield from _open_parents(Path(place) for place, _ in layout.links)
        for place, target in layout.links:
            yield from ("--symlink", target, place)
        yield from ("--proc", "/proc")
        if not layout.whole_proc:
            yield from _hide_machine()
            # With a writable /proc, a process could change its OOM score and reset its peak memory usage.
            yield from ("--remount-ro", "/proc")
        yield from _DEVICES_WITH_TERMINALS if layout.terminals else _DEVICES
        for name in layout.writable:
            yield from ("--perms", "1777", "--size", str(layout.writable_bytes), "--tmpfs", name)
        # Shown folders are mounted after the private folders, which would otherwise hide them.
        shown = [Path(folder) for folder in layout.shown if Path(folder).is_dir()]
        yield from self._show(shown)
        # Package folders become read-only last, because the mount points of shown folders may be created inside them.
        for folder in _outermost(packages):
            if not any(folder.is_relative_to(path) for path in shown):
                yield from ("--remount-ro", str(folder))
        # Otherwise a candidate could write without limit to the file systems that bwrap creates for / and /dev.
        yield from ("--remount-ro", "/dev", "--remount-ro", "/")

    def _show(self, paths: Sequence[Path], packages: Iterable[Path] = ()) -> Iterator[str]:
        """Yield bwrap arguments that show folders, with empty folders in place of secrets and installed packages.

        Args:
            paths: The folders to show.
            packages: The folders of installed packages to hide inside the shown folders.

        Raises:
            UsageError: A folder to show is inside a secret folder.
        """
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
            # A folder is shown at its given path, which may contain symbolic links, but secrets are resolved paths.
            place = folder.resolve()
            below = (path for path in self.secrets if path.is_relative_to(place) and path.is_dir())
            yield from (folder / path.relative_to(place) for path in below)


@cache
def installed_packages(folder: Path) -> tuple[Path, ...]:
    """Return the folders of Python and Node packages at any depth below a folder. The result is cached."""
    found: list[Path] = []
    waiting = [str(folder)]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            folders = {entry.name: entry.path for entry in entries if entry.is_dir(follow_symlinks=False)}
            # In a conda installation, the folder `pkgs` contains a copy of each installed package.
            packages = _PACKAGES | {"pkgs"} if "conda-meta" in folders else _PACKAGES
            found += [Path(path) for name, path in folders.items() if name in packages]
            waiting += [path for name, path in folders.items() if name not in packages]
    return tuple(found)


def _outermost(folders: Iterable[Path]) -> list[Path]:
    """Return those of the folders that are not inside another one of them, sorted."""
    every = set(folders)
    return sorted(path for path in every if not every & set(path.parents))


def _open_parents(paths: Iterable[Path]) -> Iterator[str]:
    """Yield bwrap arguments that create the parent folders of mount points, readable for all users.

    Parent folders that bwrap creates by itself would not be readable for the worker's user.
    """
    for parent in dict.fromkeys(parent for path in paths for parent in reversed(path.parents[:-1])):
        yield from ("--perms", "0755", "--dir", str(parent))


def _hide_machine() -> Iterator[str]:
    for entry, is_folder in machine_entries():
        if is_folder:
            yield from ("--tmpfs", str(entry), "--remount-ro", str(entry))
        else:
            yield from ("--ro-bind", "/dev/null", str(entry))


# /dev/zero is left out, because no limit covers the memory of its shared mappings.
_DEVICES = (
    *("--tmpfs", "/dev", "--symlink", "/proc/self/fd", "/dev/fd"),
    *(
        word
        for number, name in enumerate(("stdin", "stdout", "stderr"))
        for word in ("--symlink", f"/proc/self/fd/{number}", f"/dev/{name}")
    ),
    *(
        word
        for name in ("null", "full", "random", "urandom")
        for word in ("--dev-bind", f"/dev/{name}", f"/dev/{name}")
    ),
)
# Only the /dev that bwrap makes has terminals. Its /dev/zero is replaced by /dev/full, which reads the same but cannot
# be mapped.
_DEVICES_WITH_TERMINALS = ("--dev", "/dev", "--dev-bind", "/dev/full", "/dev/zero")
# Raises the OOM score of a sandbox, so that the kernel kills it before lmrbench if the machine runs out of memory.
FIRST_TO_END = ("/bin/sh", "-c", '{ echo 500 >/proc/self/oom_score_adj; } 2>/dev/null; exec "$@"', "sh")
_ISOLATION = (
    *("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--as-pid-1", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox", "--chdir", "/"),
)
