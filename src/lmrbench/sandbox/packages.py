"""The packages that a sandbox shows: those that the tasks import, with their requirements, and no others.

With this allow-list, a candidate (the code that is graded) can't import lmrbench, whose suite contains the reference
solutions. Nor can it import a package that happens to implement a paper's method. Packages come from the installation
of lmrbench, or from an environment that `lmrbench.sandbox.venvs` has built. In this module, `environment` is the folder
of an environment's packages; None means the installation of lmrbench.
"""

from __future__ import annotations

import csv
import inspect
import os
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from lmrbench.errors import SandboxError
from lmrbench.tasks.bounds import Similarity
from lmrbench.tasks.model import Task
from lmrbench.tasks.workspace import third_party_imports

# Packages that the worker itself needs. If an environment lacks one of them, the sandbox shows the one from lmrbench's
# own installation.
_WORKER_NEEDS = ("numpy", "safetensors")
# For each suite, the extra of lmrbench that installs the packages that its tasks import.
_EXTRAS = {"core": "suite", "real": "real", "live": "real"}


def installed(name: str, environment: Path | None = None) -> Distribution | None:
    """Return the distribution with this name, or None if it is not installed."""
    return next(iter(distributions(name=name, path=_search_path(environment))), None)


def _search_path(environment: Path | None) -> list[str]:
    return sys.path if environment is None else [str(environment)]


@cache
def _providers(environment: Path | None) -> Mapping[str, list[str]]:
    """Map each top-level import name to the names of the distributions that provide it."""
    found: dict[str, list[str]] = {}
    for item in distributions(path=_search_path(environment)):
        # Skip the folders without metadata that an interrupted pip leaves behind.
        if not any(map(item.read_text, ("METADATA", "PKG-INFO", ""))):
            continue
        for name in {_top_level(entry) for entry in _entries(item)} - {None}:
            found.setdefault(str(name), []).append(item.name)
    return found


def _top_level(entry: str) -> str | None:
    """Return the import name of a file or folder of site-packages, or None for metadata and scripts."""
    name = inspect.getmodulename(entry) or entry
    return name if name.isidentifier() else None


def _entries(distribution: Distribution) -> set[str]:
    """Return the names of the files and folders of site-packages that belong to a distribution."""
    record = distribution.read_text("RECORD")
    if record is None:
        return _unrecorded_entries(distribution)
    # RECORD is parsed here, because `distribution.files` takes a second for the ten thousand files of torch.
    entries = {row[0].partition("/")[0] for row in csv.reader(record.splitlines()) if row}
    # Paths to scripts start with `..`. `__pycache__` contains the bytecode of modules that are not in a package.
    return entries - {"..", "__pycache__"}


def _unrecorded_entries(distribution: Distribution) -> set[str]:
    """Return the entries of a distribution without RECORD, such as one from Debian: its metadata and its modules.

    The modules are those listed in top_level.txt. If that file is missing, the only module is the one that has the same
    name as the distribution.
    """
    own = canonicalize_name(distribution.name)
    modules = (distribution.read_text("top_level.txt") or own.replace("-", "_")).split()

    def belongs(entry: str) -> bool:
        if entry.endswith((".dist-info", ".egg-info")):
            return canonicalize_name(entry.rpartition(".")[0].partition("-")[0]) == own
        return _top_level(entry) in modules

    folder = str(distribution.locate_file(""))
    return set(filter(belongs, os.listdir(folder))) if os.path.isdir(folder) else set()


def comparing_imports(task: Task) -> set[str]:
    """Return the packages that are needed to compare texts in a task's observations (the results of its cases).

    The comparison runs outside of sandboxes.
    """
    return {_comparing(similarity)[0] for similarity in task.similarities.values()}


def _comparing(similarity: Similarity) -> tuple[str, str]:
    """Return the package that measures a similarity, and the extra of lmrbench that installs it."""
    return ("sentence_transformers", "embeddings") if similarity.model else ("rapidfuzz", "texts")


def require_installed(task: Task) -> None:
    """Check that lmrbench's installation has the packages that a task imports, and those that compare its texts.

    If the task's paper has requirements of its own, the task's imports are not checked, because the packages may come
    from an environment.

    Raises:
        SandboxError: A package is not installed; the message says how to install it.
    """
    for similarity in task.similarities.values():
        name, extra = _comparing(similarity)
        if name not in _providers(None):
            raise SandboxError(
                f"{task.id} compares texts with {name}, which is not installed; pip install 'lmrbench[{extra}]'"
            )
    if task.paper.requirements:
        return
    missing = [name for name in third_party_imports(task) if name not in _providers(None)]
    if not missing:
        return
    imports, wanted = f"{task.id} imports", " ".join(missing)
    if task.suite and task.suite.name in _EXTRAS:
        name = task.suite.name
        imports, wanted = f"the tasks of {name} import", f"'lmrbench[{_EXTRAS[name]}]'"
    verb = "is" if len(missing) == 1 else "are"
    raise SandboxError(f"{imports} {' and '.join(missing)}, which {verb} not installed; pip install {wanted}")


def required_distributions(imports: Iterable[str], environment: Path | None = None) -> tuple[Distribution, ...]:
    """Return the distributions that provide these top-level imports, and those that they require, sorted by name.

    Both direct and indirect requirements are included.

    Raises:
        SandboxError: A distribution is not installed.
    """
    return _required(tuple(imports), environment)


@cache
def _required(imports: tuple[str, ...], environment: Path | None) -> tuple[Distribution, ...]:
    providers = _providers(environment)
    found: dict[str, Distribution] = {}
    lent = [name for name in _WORKER_NEEDS if environment is not None and name not in providers]
    for name in with_worker_needs(imports):
        if name in lent:
            continue
        if name not in providers:
            missing = "is not installed" if environment is None else f"is not in the environment {environment}"
            raise SandboxError(f"the tasks import {name}, which {missing}; pip install {name}")
        _require(providers[name], environment, found)
    for name in lent:
        _require(_providers(None)[name], None, found)
    return tuple(found[name] for name in sorted(found))


def _require(names: Iterable[str], environment: Path | None, found: dict[str, Distribution]) -> None:
    """Add the named distributions and all their requirements, direct and indirect, to `found`."""
    queue = list(names)
    while queue:
        name = canonicalize_name(queue.pop())
        if name in found:
            continue
        if (item := installed(name, environment)) is None:
            raise SandboxError(
                f"the package {name!r} is required by the tasks' packages, but not installed; pip install {name}"
            )
        found[name] = item
        requirements = [Requirement(text) for text in item.requires or ()]
        queue += [each.name for each in requirements if each.marker is None or each.marker.evaluate({"extra": ""})]


def with_worker_needs(imports: Iterable[str]) -> tuple[str, ...]:
    """Return these imports and those that the worker itself needs.

    The result is sorted and has no duplicates, so that equal sets of imports compare equal.
    """
    return tuple(sorted({*imports, *_WORKER_NEEDS}))


def versions(imports: Iterable[str], environment: Path | None = None) -> dict[str, str]:
    """Return the versions of all distributions that a sandbox for these imports shows, by distribution name."""
    return dict(_versions(tuple(imports), environment))


@cache
def _versions(imports: tuple[str, ...], environment: Path | None) -> dict[str, str]:
    return {item.name: item.version for item in required_distributions(imports, environment)}


def importable_paths(imports: Iterable[str], environment: Path | None = None) -> dict[str, Path]:
    """Return the paths of all entries of site-packages that a sandbox for these imports shows, by entry name."""
    found = [paths_of(item) for item in required_distributions(imports, environment)]
    return dict(sorted({name: path for paths in found for name, path in paths.items()}.items()))


def paths_of(distribution: Distribution) -> dict[str, Path]:
    """Return the paths of all existing entries of site-packages that belong to a distribution, by entry name."""
    names = (name for name in _entries(distribution) if not name.endswith(".pth"))
    places = {name: Path(str(distribution.locate_file(name))) for name in names}
    return {name: path for name, path in places.items() if path.exists()}
