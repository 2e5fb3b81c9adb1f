"""Pin published code: make the `[source]` of a task.toml from a package version or an address."""

from __future__ import annotations

import email.parser
import re
from pathlib import Path

from lmrbench.errors import UsageError
from lmrbench.tasks.sources.fetch import digest_at
from lmrbench.tasks.sources.origin import Source, tree_folder
from lmrbench.tasks.sources.releases import IndexedVersion, release_of, releases, version_in

TO_SAY = "TODO"
_COMMIT = re.compile(r"(?P<git>https?://.+)@(?P<commit>[0-9a-f]{40})")
_ARCHIVE = re.compile(r"https?://.+\.(tar\.gz|zip)")
_PACKAGE = re.compile(r"[\w.-]+==[\w.+!-]+")


def pinned(text: str) -> Source:
    """Return the source named by NAME==VERSION, ADDRESS@COMMIT, or the address of an archive.

    For a version, the pinned file is its platform-independent wheel, or else its source distribution. The licence is
    set to TODO and the imports are left empty; the author of the task must fill them in.

    Raises:
        UsageError: The text is malformed.
        SourceError: The version or the archive is not available.
    """
    if _PACKAGE.fullmatch(text):
        name, _, version = text.partition("==")
        return pinned_release(text, release_of(releases(name), name, version_in(f"--source {text}", version)))
    if match := _COMMIT.fullmatch(text):
        table = match.groupdict()
    elif _ARCHIVE.fullmatch(text):
        table = {"archive": text, "sha256": digest_at(text)}
    else:
        raise UsageError(
            f"--source {text}: expected NAME==VERSION, ADDRESS@COMMIT with all 40 digits, or the address of a .tar.gz "
            "or .zip"
        )
    return Source.model_validate({**table, "licence": TO_SAY, "imports": ()})


def pinned_release(package: str, release: IndexedVersion) -> Source:
    """Return a source that pins a release.

    If the index does not state the digest of the file, the file is downloaded to compute it.

    Args:
        package: The package and the version, as NAME==VERSION.
        release: The release to pin.
    """
    file = release.file
    table = {"package": package, "file": file.name, "sha256": file.sha256 or digest_at(file.address)}
    return Source.model_validate({**table, "licence": TO_SAY, "imports": ()})


def licence_of(source: Source) -> str:
    """Return the licence stated in the metadata of a fetched package, or TODO if none is stated."""
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
