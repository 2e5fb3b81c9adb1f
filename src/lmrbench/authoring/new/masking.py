"""Mask functions of any repository (replace their bodies with `raise NotImplementedError`), and show the changes."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path

from lmrbench.authoring.new import closure as helpers
from lmrbench.errors import TaskError
from lmrbench.source import functions
from lmrbench.tasks.model import Target
from lmrbench.tasks.workspace import folder_files


def with_helpers(files: Mapping[str, bytes], targets: Sequence[Target], repository: Path) -> tuple[Target, ...]:
    """Return the targets and the helpers that only they use. Raises TaskError if the file of a target is missing."""
    require_files(files, targets, repository)
    return helpers.closure(files, targets)


def mask_targets(
    repository: Path, targets: Sequence[Target], closure: bool
) -> tuple[dict[str, bytes], dict[str, bytes], tuple[Target, ...]]:
    """Mask functions of a repository.

    Args:
        repository: The folder of the repository.
        targets: The functions to mask.
        closure: Whether to also mask the helpers that only the targets use.

    Returns:
        The files of the repository, the same files after masking, and the functions that were masked.

    Raises:
        TaskError: The file of a target does not exist, or a target can't be masked.
    """
    files = folder_files(repository)
    chosen = with_helpers(files, targets, repository) if closure else tuple(targets)
    require_files(files, chosen, repository)
    return files, masked(files, chosen), chosen


def require_files(files: Mapping[str, bytes], targets: Sequence[Target], repository: Path) -> None:
    """Raise TaskError if the repository lacks the file of a target."""
    for target in targets:
        if target.file not in files:
            raise TaskError(f"{target}: there is no file {repository / target.file}")


def masked(files: Mapping[str, bytes], targets: Sequence[Target]) -> dict[str, bytes]:
    """Return the files of a repository with the targets masked. Raises TaskError if a target can't be masked."""
    found = dict(files)
    for name in dict.fromkeys(target.file for target in targets):
        try:
            found[name] = functions.mask(files[name], [target.qualname for target in targets if target.file == name])
        except TaskError as error:
            raise TaskError(f"{name}: {error}") from error
    return found


def difference(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> str:
    """Return the changes between two versions of a repository as a unified diff."""
    parts = []
    for name in (name for name in after if after[name] != before[name]):
        old, new = (text.decode("utf-8", "replace").splitlines() for text in (before[name], after[name]))
        parts.append("\n".join(difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", lineterm="")))
    return "\n".join(parts)


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files to a new folder. Raises TaskError if the folder exists."""
    if folder.exists():
        raise TaskError(f"{folder} already exists; name a new folder")
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
