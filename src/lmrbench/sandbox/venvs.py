"""Where do a paper's packages come from, if lmrbench's own installation does not meet its requirements?

From an environment of its own, made by `lmrbench setup env build` with what pip is configured for: a virtual
environment in the user's cache, and a lock file of what was installed, with the digest of each file. Papers with the
same requirements share one.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from lmrbench.errors import SandboxError
from lmrbench.files import cache_folder, locked, write_whole
from lmrbench.sandbox.packages import installed

_LOCK = "requirements.lock"


@cache
def environment_of(requirements: tuple[str, ...]) -> Path | None:
    """The folder of the packages that meet these requirements; None if those of lmrbench's own installation do.

    Raises SandboxError, which says how to make it, where there is none yet.
    """
    unmet = unmet_requirements(requirements)
    if not unmet:
        return None
    folder = environment_folder(requirements)
    if not is_built(folder):
        raise SandboxError(f"{unmet[0]}; an environment that has it is made by: lmrbench setup env build")
    return packages_folder(folder)


def unmet_requirements(requirements: Iterable[str]) -> list[str]:
    """What lmrbench's own installation lacks of these requirements and of what they require, in words."""
    unmet: list[str] = []
    waiting, seen = _counting(requirements, ()), set[str]()
    while waiting:
        wanted = waiting.pop(0)
        if str(wanted) in seen:
            continue
        seen.add(str(wanted))
        found = installed(wanted.name)
        if found is None:
            unmet.append(f"{wanted} is needed, and not installed")
        elif not wanted.specifier.contains(found.version, prereleases=True):
            unmet.append(f"{wanted} is needed, and {found.version} is installed")
        else:
            waiting += _counting(found.requires or (), wanted.extras)
    return unmet


def _counting(texts: Iterable[str], extras: Collection[str]) -> list[Requirement]:
    """The requirements whose markers hold here, with these extras."""
    found = [Requirement(text) for text in texts]
    return [
        item
        for item in found
        if item.marker is None or any(item.marker.evaluate({"extra": extra}) for extra in ("", *extras))
    ]


def environment_folder(requirements: Iterable[str]) -> Path:
    """Where the environment for these requirements and this Python lies, or will lie."""
    named = [sorted(requirements), platform.python_version(), platform.machine()]
    return cache_folder() / "environments" / hashlib.sha256(json.dumps(named).encode()).hexdigest()[:32]


def packages_folder(folder: Path) -> Path:
    """The folder in an environment that holds its packages."""
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(folder), "platbase": str(folder)}))


def lock_digest(environment: Path) -> str:
    """SHA-256 of the lock file of the environment that holds this folder of packages."""
    (lock,) = [parent / _LOCK for parent in environment.parents if (parent / _LOCK).is_file()]
    return hashlib.sha256(lock.read_bytes()).hexdigest()


def is_built(folder: Path) -> bool:
    """Whether an environment is here, whole: its lock file is written last."""
    return (folder / _LOCK).is_file()


def build(requirements: tuple[str, ...]) -> Path:
    """Make the environment for these requirements, unless it is there; returns its folder. pip says what it does.

    Raises SandboxError where pip can't install them, and RecordError where another process is making it.
    """
    folder = environment_folder(requirements)
    with locked(folder.with_name(f".{folder.name}")):
        if is_built(folder):
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        try:
            venv.create(folder, symlinks=True)
            with tempfile.TemporaryDirectory() as scratch:
                report = Path(scratch, "report.json")
                _install(folder, requirements, report)
                write_whole(folder / _LOCK, "".join(_locked_lines(json.loads(report.read_text()))).encode())
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    return folder


def _install(folder: Path, requirements: Iterable[str], report: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
    options = ["--disable-pip-version-check", "--no-input", "--only-binary", ":all:", "--report", str(report)]
    # Wheels alone: building anything else would run its code outside of a sandbox.
    # What pip says is no result: all of it goes to standard error.
    done = subprocess.run([*pip, "install", *options, *requirements], stdout=2, check=False)
    if done.returncode:
        raise SandboxError(f"pip could not install {' '.join(requirements)} (its messages are above)")


def _locked_lines(report: dict[str, Any]) -> Iterator[str]:
    """The lines of a lock file, as `pip install --require-hashes` reads it, from what pip says of an installation."""
    for item in sorted(report["install"], key=lambda item: canonicalize_name(item["metadata"]["name"])):
        digest = item["download_info"]["archive_info"]["hashes"]["sha256"]
        yield f"{item['metadata']['name']}=={item['metadata']['version']} --hash=sha256:{digest}\n"
