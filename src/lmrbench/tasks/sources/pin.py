"""Pin a source by its digest, from a version or an address."""

from __future__ import annotations

import email.parser
import re
from pathlib import Path

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from lmrbench.errors import SourceError, UsageError
from lmrbench.tasks.sources.fetch import digest_at
from lmrbench.tasks.sources.indexes import IndexedFile, indexed_files
from lmrbench.tasks.sources.origin import Source, tree_folder

TO_SAY = "TODO"
_COMMIT = re.compile(r"(?P<git>https?://.+)@(?P<commit>[0-9a-f]{40})")
_ARCHIVE = re.compile(r"https?://.+\.(tar\.gz|zip)")
_PACKAGE = re.compile(r"[\w.-]+==[\w.+!-]+")


def pinned(text: str) -> Source:
    """Return the source named by NAME==VERSION, ADDRESS@COMMIT, or the address of an archive.

    The file of a version is its wheel for every machine, or else its source distribution. Licence and imports are left
    to the author.

    Raises:
        UsageError: the text is malformed.
        SourceError: the version or the archive is not available.
    """
    table: dict[str, str]
    if _PACKAGE.fullmatch(text):
        file = _best_file(text)
        table = {"package": text, "file": file.name, "sha256": file.sha256 or digest_at(file.address)}
    elif match := _COMMIT.fullmatch(text):
        table = match.groupdict()
    elif _ARCHIVE.fullmatch(text):
        table = {"archive": text, "sha256": digest_at(text)}
    else:
        raise UsageError(
            f"--source {text}: expected NAME==VERSION, ADDRESS@COMMIT with all 40 digits, or the address of a .tar.gz "
            "or .zip"
        )
    return Source.model_validate({**table, "licence": TO_SAY, "imports": ()})


def licence_of(source: Source) -> str:
    """Return the licence in the metadata of a fetched package, or TODO if it names none."""
    for pattern in ("*.dist-info/METADATA", "PKG-INFO", "*/PKG-INFO"):
        for file in sorted(tree_folder(source).glob(pattern)):
            if said := _licence(file):
                return said
    return TO_SAY


def _licence(metadata: Path) -> str:
    fields = email.parser.HeaderParser().parsestr(metadata.read_text("utf-8", "replace"))
    classified = [item for item in fields.get_all("Classifier", []) if item.startswith("License ::")]
    # Some packages put the whole text of the licence into this field.
    named = "" if "\n" in (fields["License"] or "") else fields["License"]
    return fields["License-Expression"] or named or "".join(classified[:1]).rpartition(":: ")[2]


def _best_file(package: str) -> IndexedFile:
    """Return the file of a version that runs on every machine."""
    name, _, version = package.partition("==")
    try:
        wanted = (canonicalize_name(name), Version(version))
    except InvalidVersion as error:
        raise UsageError(f"--source {package}: {error}") from error
    found = [item for item in indexed_files(name) if item.yanked is None and _release(item.name) == wanted]
    if not found:
        raise SourceError(
            f"{package}: no index of pip's configuration holds a wheel for every machine or a source distribution of it"
        )
    return min(found, key=lambda item: not item.name.endswith(".whl"))


def _release(file: str) -> tuple[str, Version] | None:
    """Return the package and version of a file, or None if it does not run on every machine."""
    try:
        if not file.endswith(".whl"):
            return parse_sdist_filename(file)
        name, version, _, tags = parse_wheel_filename(file)
    except (InvalidSdistFilename, InvalidWheelFilename):
        return None
    return (name, version) if any(tag.platform == "any" for tag in tags) else None
