"""Trees: folders of hard links that show a repository of thousands of files to a sandbox without sending the files.

A job runs a task's check, the code that tests a candidate (the code to grade), in a repository. A fetched source
(`lmrbench.tasks.sources`) is published code that was downloaded to this machine; the content of each of its files is an
instance of `Kept`. A tree contains hard links to those files of a job that come from a fetched source, and to no other
file of the source. So it contains neither the files that a task leaves out, nor the originals of the files that a task
masks (by removing the bodies of the functions to implement). Jobs with the same files from the source share a tree;
only their other files are sent to the worker. A tree also contains the bytecode of the modules that the job's check is
likely to import.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import os
import py_compile
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from lmrbench.files import cache_folder
from lmrbench.source.syntax import parse
from lmrbench.tasks.sources.origin import Kept


def tree_of(files: Mapping[str, bytes], check: str) -> Path | None:
    """Return the tree of a job's files, and create it if it is missing.

    Args:
        files: The contents of the job's files, by path.
        check: The code of the job's check. The modules that it imports, directly or indirectly, are compiled to
            bytecode.

    Returns:
        The folder, or None if no file comes from a fetched source.
    """
    places = {path: data.place for path, data in files.items() if isinstance(data, Kept)}
    if not places:
        return None
    named = "\0".join(f"{path}\0{place}" for path, place in sorted(places.items()))
    folder = cache_folder() / "trees" / hashlib.sha256(named.encode()).hexdigest()[:32]
    if not folder.is_dir():
        _make(folder, places, set(needed_modules(files, check)))
    return folder


def sent(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a job that do not come from a fetched source, and so must be sent to the worker."""
    return {path: data for path, data in files.items() if not isinstance(data, Kept)}


def _make(folder: Path, places: Mapping[str, Path], needed: set[str]) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(dir=folder.parent, prefix="."))
    try:
        for path, place in places.items():
            (new / path).parent.mkdir(parents=True, exist_ok=True)
            os.link(place, new / path)
            if path in needed:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    py_compile.compile(str(new / path), quiet=2)
        # Make the files readable whatever the umask is, because a worker may run under another user id.
        for inner in (new, *new.rglob("*")):
            inner.chmod(0o755 if inner.is_dir() else 0o444)
        new.rename(folder)
    except BaseException as error:
        shutil.rmtree(new, ignore_errors=True)
        # If another process has created the folder in the meantime, it has the same content.
        if not (isinstance(error, OSError) and folder.is_dir()):
            raise


def needed_modules(files: Mapping[str, bytes], check: str) -> Iterator[str]:
    """Yield the paths of the modules that a check imports, directly or through other modules of the repository.

    If a job has its own version of a file, for example a candidate's, the imports are read from the version in the
    fetched source.

    Args:
        files: The contents of the job's files, by path. At least one of them must come from a fetched source.
        check: The code of the job's check.
    """
    root = next(_root(path, data.place) for path, data in files.items() if isinstance(data, Kept))
    seen: set[str] = set()
    waiting = list(_imported((node for top in _body(check) for node in ast.walk(top)), "", files))
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen.add(path)
            yield path
            waiting += _imported(_loaded(_original(files[path], root / path)), path, files)


def _root(path: str, place: Path) -> Path:
    """Return the folder that `path` is relative to, given the full path of the same file."""
    return place.parents[len(PurePosixPath(path).parts) - 1]


def _original(data: bytes, place: Path) -> bytes:
    """Return the version of a file in the fetched source; empty if the source has no such file."""
    if isinstance(data, Kept):
        return data
    with contextlib.suppress(FileNotFoundError):
        return place.read_bytes()
    return b""


def _body(source: bytes | str) -> list[ast.stmt]:
    """Return the statements of a module; none if the text is not valid Python."""
    with warnings.catch_warnings(), contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        warnings.simplefilter("ignore")
        return parse(source).body
    return []


def _loaded(source: bytes) -> Iterator[ast.AST]:
    """Yield the syntax nodes of the code that runs when a module is imported."""
    waiting: list[ast.AST] = [*_body(source)]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If) and any(_is_type_checking(part) for part in ast.walk(node.test)):
            waiting += node.orelse
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def _is_type_checking(node: ast.AST) -> bool:
    return "TYPE_CHECKING" in (getattr(node, "id", None), getattr(node, "attr", None))


def _imported(nodes: Iterable[ast.AST], path: str, files: Mapping[str, bytes]) -> Iterator[str]:
    """Find the imports among the syntax nodes of the module `path`, and yield the files that they can refer to."""
    package = PurePosixPath(path).parent
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files_of(PurePosixPath(*alias.name.split(".")), files)
        elif isinstance(node, ast.ImportFrom):
            base = PurePosixPath(*package.parts[: len(package.parts) - node.level + 1]) if node.level else None
            module = (base or PurePosixPath()).joinpath(*(node.module or "").split("."))
            yield from _files_of(module, files)
            for alias in node.names:
                yield from _files_of(module / alias.name, files)


def _files_of(module: PurePosixPath, files: Mapping[str, bytes]) -> Iterable[str]:
    """Return those files of a module and of its parent packages that the repository contains."""
    around = [PurePosixPath(*module.parts[: end + 1]) for end in range(len(module.parts))]
    names = [f"{item}/__init__.py" for item in around] + [f"{module}.py"]
    return [name for name in names if name in files]
