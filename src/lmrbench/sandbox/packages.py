"""Which installed packages may a sandbox see? Those that the tasks import, and what these require: nothing else.

An allow-list, so that neither lmrbench itself (its suite holds the goldens) nor a package that happens to implement a
paper's method can be imported by a candidate.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution, packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from lmrbench.errors import SandboxError

# What the worker itself needs to send observations.
_WORKER_NEEDS = ("numpy", "safetensors")


@cache
def _distributions_by_import() -> dict[str, list[str]]:
    return {name: list(found) for name, found in packages_distributions().items()}


def required_distributions(imports: Iterable[str]) -> tuple[Distribution, ...]:
    """The distributions that provide these top-level imports, with all that they require, by name.

    Raises SandboxError for an import that no installed distribution provides.
    """
    return _required(tuple(imports))


@cache
def _required(imports: tuple[str, ...]) -> tuple[Distribution, ...]:
    queue: list[str] = []
    for name in with_worker_needs(imports):
        if name not in _distributions_by_import():
            raise SandboxError(f"the tasks import {name!r}, which is not installed here: pip install {name}")
        queue += _distributions_by_import()[name]
    found: dict[str, Distribution] = {}
    while queue:
        name = canonicalize_name(queue.pop())
        if name in found:
            continue
        try:
            found[name] = distribution(name)
        except PackageNotFoundError as error:
            raise SandboxError(f"the package {name!r} is required by the tasks' packages, but not installed") from error
        requirements = [Requirement(text) for text in found[name].requires or ()]
        queue += [item.name for item in requirements if item.marker is None or item.marker.evaluate({"extra": ""})]
    return tuple(found[name] for name in sorted(found))


def with_worker_needs(imports: Iterable[str]) -> tuple[str, ...]:
    """These imports and those of the worker itself, sorted: the same for all that can share a worker."""
    return tuple(sorted({*imports, *_WORKER_NEEDS}))


def versions(imports: Iterable[str]) -> dict[str, str]:
    """Name and version of every distribution that a sandbox for these imports shows."""
    return dict(_versions(tuple(imports)))


@cache
def _versions(imports: tuple[str, ...]) -> dict[str, str]:
    return {item.name: item.version for item in required_distributions(imports)}


def importable_paths(imports: Iterable[str]) -> dict[str, Path]:
    """Every file or folder of site-packages that a sandbox for these imports shows, by its name there."""
    paths: dict[str, Path] = {}
    for item in required_distributions(imports):
        for file in item.files or ():
            name = file.parts[0]
            # `..` leads to scripts; a package's own folder of bytecode comes with it.
            if name not in ("..", "__pycache__") and not name.endswith(".pth"):
                paths[name] = Path(str(item.locate_file(name)))
    return {name: path for name, path in sorted(paths.items()) if path.exists()}
