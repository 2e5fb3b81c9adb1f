"""Virtual environments for papers whose requirements the installation of lmrbench does not meet.

`lmrbench setup env build` creates them in the user's cache. It installs the requirements with pip, which reads the
user's configuration, and then writes a lock file with the digest of each installed package. Papers with the same
requirements share an environment.
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
from lmrbench.progress import Finished
from lmrbench.sandbox.packages import installed
from lmrbench.tasks.model import Paper

_LOCK = "requirements.lock"


@cache
def environment_of(requirements: tuple[str, ...]) -> Path | None:
    """Return the packages folder of the environment for these requirements; None if lmrbench's installation meets them.

    Raises:
        SandboxError: The environment has not been built; the message says how to build it.
    """
    unmet = unmet_requirements(requirements)
    if not unmet:
        return None
    folder = environment_folder(requirements)
    if not is_built(folder):
        raise SandboxError(f"{unmet[0]}; build an environment that has it: lmrbench setup env build")
    return packages_folder(folder)


def unmet_requirements(requirements: Iterable[str]) -> list[str]:
    """Return a description of each requirement, direct or indirect, that the installation of lmrbench does not meet."""
    unmet: list[str] = []
    waiting, seen = _applicable(requirements, ()), set[str]()
    while waiting:
        wanted = waiting.pop(0)
        if str(wanted) in seen:
            continue
        seen.add(str(wanted))
        found = installed(wanted.name)
        if found is None:
            unmet.append(f"{wanted} is needed but not installed")
        elif not wanted.specifier.contains(found.version, prereleases=True):
            unmet.append(f"{wanted} is needed but {found.version} is installed")
        else:
            waiting += _applicable(found.requires or (), wanted.extras)
    return unmet


def _applicable(texts: Iterable[str], extras: Collection[str]) -> list[Requirement]:
    """Parse requirements, and return those whose markers are true on this machine with these extras."""
    found = [Requirement(text) for text in texts]
    return [
        item
        for item in found
        if item.marker is None or any(item.marker.evaluate({"extra": extra}) for extra in ("", *extras))
    ]


def environment_folder(requirements: Iterable[str]) -> Path:
    """Return the folder of the environment for these requirements and this Python, whether it exists or not."""
    named = [sorted(requirements), platform.python_version(), platform.machine()]
    return cache_folder() / "environments" / hashlib.sha256(json.dumps(named).encode()).hexdigest()[:32]


def packages_folder(folder: Path) -> Path:
    """Return the folder inside an environment's folder that contains its packages."""
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(folder), "platbase": str(folder)}))


def lock_digest(environment: Path) -> str:
    """Return the SHA-256 digest of the lock file of an environment, given the environment's packages folder."""
    (lock,) = [parent / _LOCK for parent in environment.parents if (parent / _LOCK).is_file()]
    return hashlib.sha256(lock.read_bytes()).hexdigest()


def is_built(folder: Path) -> bool:
    """Return whether the environment in this folder is complete. Its lock file is written last."""
    return (folder / _LOCK).is_file()


def build(requirements: tuple[str, ...]) -> Path:
    """Build the environment for these requirements, unless it exists. pip reports its progress on standard error.

    Returns:
        The folder of the environment.

    Raises:
        SandboxError: pip cannot install the requirements.
        RecordError: Another process is building the environment.
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


def build_environments(papers: Iterable[Paper]) -> Iterator[Finished]:
    """Build the environments that these papers need, and yield one message about each paper.

    If an environment can't be built, further papers with the same requirements are skipped without a message.
    """
    failed: set[tuple[str, ...]] = set()
    for paper in papers:
        if not unmet_requirements(paper.requirements):
            yield Finished(f"{paper.slug}: the packages of this installation meet its requirements")
        elif paper.requirements not in failed:
            try:
                yield Finished(f"{paper.slug}: {build(paper.requirements)}")
            except SandboxError as error:
                failed.add(paper.requirements)
                yield Finished(f"{paper.slug}: {error}", failed=True)


def _install(folder: Path, requirements: Iterable[str], report: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
    options = ["--disable-pip-version-check", "--no-input", "--only-binary", ":all:", "--report", str(report)]
    # Only wheels are installed, because building a source distribution would run its code outside of a sandbox.
    # Standard output is for results, so pip's messages go to standard error.
    done = subprocess.run([*pip, "install", *options, *requirements], stdout=2, check=False)
    if done.returncode:
        raise SandboxError(f"pip could not install {' '.join(requirements)} (its messages are above)")


def _locked_lines(report: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a lock file for `pip install --require-hashes`, given pip's report of an installation."""
    for item in sorted(report["install"], key=lambda item: canonicalize_name(item["metadata"]["name"])):
        digest = item["download_info"]["archive_info"]["hashes"]["sha256"]
        yield f"{item['metadata']['name']}=={item['metadata']['version']} --hash=sha256:{digest}\n"
