"""Show a sandbox a repository of thousands of files without sending it: a folder of links to the files that are kept.

Of a job's files those that come from a fetched source lie on this machine already. A folder holds hard links to them,
and no other file of the source, so that what was masked or left out is nowhere in it. Jobs over the same files share
it, and only what differs is sent. The modules that Python is likely to need lie there compiled, too.
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
from lmrbench.tasks.sources.origin import Kept


def tree_of(files: Mapping[str, bytes], check: str) -> Path | None:
    """The folder of the files of a job that come from a source, made where it is missing; None if there are none.

    check: what the job runs; what it imports is compiled.
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
    """The files of a job that lie in no such folder."""
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
        # Whatever the umask: a worker may have a user id of its own.
        for inner in (new, *(path for path in new.rglob("*") if path.is_dir())):
            inner.chmod(0o755)
        new.rename(folder)
    except BaseException as error:
        shutil.rmtree(new, ignore_errors=True)
        # Another process was faster; its folder is the same.
        if not (isinstance(error, OSError) and folder.is_dir()):
            raise


def needed_modules(files: Mapping[str, bytes], check: str) -> Iterator[str]:
    """The modules of a repository that a check imports, and those that these import as they are loaded, by path.

    In place of a file that does not come from the source, which may be a candidate's, the source's own is read.
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
    """The folder below which a file of this path lies in this place."""
    return place.parents[len(PurePosixPath(path).parts) - 1]


def _original(data: bytes, place: Path) -> bytes:
    """What a file of the source holds; nothing where the source has no such file."""
    if isinstance(data, Kept):
        return data
    with contextlib.suppress(FileNotFoundError):
        return place.read_bytes()
    return b""


def _body(source: bytes | str) -> list[ast.stmt]:
    """The statements of a module; none of a file that is no Python."""
    with warnings.catch_warnings(), contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        warnings.simplefilter("ignore")
        return ast.parse(source).body
    return []


def _loaded(source: bytes) -> Iterator[ast.AST]:
    """What runs when a module is loaded."""
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
    """The files of a repository that the imports of a module can stand for."""
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
    """The files of a module and of the packages around it, as far as the repository holds them."""
    around = [PurePosixPath(*module.parts[: end + 1]) for end in range(len(module.parts))]
    names = [f"{item}/__init__.py" for item in around] + [f"{module}.py"]
    return [name for name in names if name in files]
