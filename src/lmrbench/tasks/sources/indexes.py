"""List the files of a package on the indexes in pip's configuration."""

from __future__ import annotations

import subprocess
import sys
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from lmrbench.errors import SourceError

SECONDS = 60.0
_PYPI = "https://pypi.org/simple"


@dataclass(frozen=True)
class IndexedFile:
    """A file of a package, as listed by an index.

    Attributes:
        name: The name of the file.
        address: The URL of the file.
        sha256: The digest of the file, or None if the index does not state it.
        yanked: The reason why the file was withdrawn ("" if none is given), or None if it was not withdrawn.
        uploaded: The time when the file was uploaded, or None if the index does not state it.
    """

    name: str
    address: str
    sha256: str | None = None
    yanked: str | None = None
    uploaded: datetime | None = None


def indexed_files(project: str) -> Iterator[IndexedFile]:
    """Yield the files of all versions of a package, from pip's folders of wheels and then from its indexes.

    If an index can't be reached, SourceError is raised at the end, after the files of all other indexes.
    """
    try:
        import requests
        from pypi_simple import NoSuchProjectError, PyPISimple
    except ImportError as error:
        raise SourceError(
            f"package indexes can't be read without {error.name}; run `pip install 'lmrbench[real]'`"
        ) from error

    settings = _pip_settings()
    session = requests.Session()
    if "cert" in settings:
        session.verify = settings["cert"]
    for folder in settings.get("find_links", "").split():
        for file in sorted(Path(folder.removeprefix("file://")).glob("*")):
            yield IndexedFile(file.name, file.resolve().as_uri())
    unreachable = ""
    for index in (settings.get("index_url", _PYPI), *settings.get("extra_index_url", "").split()):
        if index.startswith("file:"):
            continue
        try:
            packages = PyPISimple(index, session=session).get_project_page(project, timeout=SECONDS).packages
        except NoSuchProjectError:
            continue
        except requests.RequestException as error:
            unreachable = unreachable or f"{_without_login(index)} can't be reached: {type(error).__name__}"
            continue
        for item in packages:
            yanked = (item.yanked_reason or "") if item.is_yanked else None
            yield IndexedFile(item.filename, item.url, item.digests.get("sha256"), yanked, item.upload_time)
    if unreachable:
        raise SourceError(f"not all indexes in pip's configuration could be read: {unreachable}")


def _pip_settings() -> dict[str, str]:
    """Return pip's settings by name, with underscores for hyphens. Environment variables take precedence over files."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    found: dict[str, str] = {}
    for section in ("global.", "install.", "download.", ":env:."):
        for line in listed.stdout.splitlines():
            if line.startswith(section):
                name, _, value = line.removeprefix(section).partition("=")
                found[name.replace("-", "_")] = value.strip("'\"").replace("\\n", " ")
    return found


def _without_login(address: str) -> str:
    parts = urllib.parse.urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
