"""Read the papers' folders in the public edition of LMR-BENCH.

A clone of the edition's repository has a folder for each paper in `benchmark`, or in `benchmark/datasets` if its
archive was unpacked as the edition's README says. A folder contains `info.json`, the research code (in which the
bodies of functions may be removed), and the folder `golden_files` with the goldens, which are the reference
implementations of the functions. For each function, `info.json` names its golden and its goal file, which is the file
of the research code that the function belongs to. The paper's text is in `paper.json`, in the folder or in the research
code. All files are untrusted: links are not followed, paths must not leave the folder, and sizes are limited. Missing
and malformed files raise `TaskError`.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from lmrbench.authoring.new.drafting import MOST_BYTES
from lmrbench.errors import SubmissionError, TaskError, UsageError
from lmrbench.integrations.lmr_bench.paper_text import paper_markdown
from lmrbench.source.functions import find
from lmrbench.source.responses import from_response
from lmrbench.source.syntax import FunctionNode, decode, describe
from lmrbench.source.transplant import transplant
from lmrbench.tasks.files import validated
from lmrbench.tasks.foreign import entries, read_foreign
from lmrbench.tasks.model import Paper, Target

BENCHMARK, UNPACKED, INFO, PAPER, GOLDENS = "benchmark", "datasets", "info.json", "paper.json", "golden_files"
MOST_OF_A_TEXT = 4 << 20
# Matches the names of folders and scripts of unit tests, such as `unit_test`, `unit_tests` and `unit_test_3`.
UNIT_TEST = re.compile(r"unit[ _-]?tests?[ _-]?\d*", re.IGNORECASE)


@dataclass(frozen=True)
class Benchmark:
    """A paper's folder in the edition.

    Attributes:
        folder: The path of the folder.
        info: The content of `info.json`.
        files: The paths of all readable files, relative to the folder.
        others: The paths of files that can't be read, each with the reason.
        repository: The name of the folder with the research code.
    """

    folder: Path
    info: Mapping[str, Any]
    files: tuple[str, ...]
    others: tuple[tuple[str, str], ...]
    repository: str

    @property
    def implementations(self) -> list[Mapping[str, Any]]:
        """The entries of `info.json` that describe functions, one for each function."""
        return _implementations(self.info)

    def text(self, key: str) -> str:
        """Return the value of a key in `info.json` as a string; "" if it is neither a string nor an integer."""
        return plain_text(self.info.get(key))


def plain_text(value: object) -> str:
    """Convert a JSON value to a string that can be encoded in UTF-8; "" if it is neither a string nor an integer."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return str(value).strip().encode("utf-8", "replace").decode()


def benchmark_folders(source: Path) -> list[Path]:
    """List the folders of the edition's papers, sorted by number and name.

    Args:
        source: A clone, its folder `benchmark`, or the folder `datasets` of an unpacked archive.

    Returns:
        The folders.

    Raises:
        UsageError: No folder contains an `info.json`.
    """
    root = source / BENCHMARK if (source / BENCHMARK).is_dir() else source
    if not root.is_dir():
        raise UsageError(f"{source}: no such folder")
    found = _folders(root)
    unpacked = root / UNPACKED
    if unpacked in found and not (unpacked / INFO).is_file():
        found = [*(path for path in found if path != unpacked), *_folders(unpacked)]
    if not any((path / INFO).is_file() for path in found):
        raise UsageError(
            f"{source}: no folder in it has an {INFO}; expected a clone of the edition's repository, its folder "
            f"{BENCHMARK}, or the folder {UNPACKED} of its archive"
        )

    def place(path: Path) -> tuple[int, str]:
        number = paper_number(path.name)
        return 10**9 if number is None else number, path.name

    return sorted(found, key=place)


def paper_number(name: str) -> int | None:
    """Return the number at the start of a folder's name, such as 1 for 01-DPO, or None if there is no number."""
    number = re.match(r"[0-9]{1,9}", name)
    return int(number.group()) if number else None


def _folders(root: Path) -> list[Path]:
    """Return the subfolders of a folder, except hidden ones and those that macOS adds to archives."""
    return [path for path in root.iterdir() if path.is_dir() and not path.name.startswith((".", "__"))]


def read_benchmark(folder: Path) -> Benchmark:
    """Read `info.json` of a paper's folder and list its files.

    Args:
        folder: The folder of the paper.

    Returns:
        The content of `info.json` and the paths of the files.

    Raises:
        TaskError: The folder is a link, empty or incomplete, or its `info.json` is malformed.
    """
    if folder.is_symlink():
        raise TaskError("the folder is a symbolic link; links are not followed")
    if not any(folder.iterdir()):
        raise TaskError("the folder is empty; it may be a submodule, whose files are in another repository")
    info = _read_info(folder)
    found = [(name, kind or _why_not_a_name(name)) for name, kind in entries(folder)]
    files = tuple(name for name, kind in found if not kind)
    named = info.get("repo_folder_name")
    within = str(PurePosixPath(named)) if isinstance(named, str) and named else ""
    if not any(name.startswith(f"{within}/") for name in files):
        tops = {name.partition("/")[0] for name in files if "/" in name} - {GOLDENS}
        tops = {name for name in tops if not UNIT_TEST.fullmatch(name)}
        if len(tops) != 1:
            raise TaskError(
                f"{INFO}: repo_folder_name: no folder {within!r} with files; some research code of the edition is a "
                "submodule, whose files are in another repository"
            )
        within = tops.pop()
    return Benchmark(folder, info, files, tuple((name, kind) for name, kind in found if kind), within)


def read_implementations(folder: Path) -> list[Mapping[str, Any]]:
    """Read the entries of `info.json` that describe functions, but no other file of a paper's folder.

    Raises:
        TaskError: `info.json` is missing or malformed.
    """
    return _implementations(_read_info(folder))


def read_paper(benchmark: Benchmark, slug: str) -> Paper:
    """Read the title, year and URLs of a paper from `info.json`.

    Args:
        benchmark: The folder of the paper, as `read_benchmark` returns it.
        slug: The short name to give to the paper.

    Returns:
        The paper, with the host of its URL as the venue.

    Raises:
        TaskError: The year or the URL is invalid.
    """
    url, code = benchmark.text("paper_url"), benchmark.text("repo_url")
    if re.match(r"[\w-]+(\.[\w-]+)+/", url):
        url = f"https://{url}"
    facts = {
        "slug": slug,
        "title": " ".join(benchmark.text("paper_name").split()) or benchmark.folder.name,
        "year": benchmark.text("year"),
        "venue": re.sub(r"^\w+://(www\.)?|[/?#].*$", "", url) or "unknown",
        "url": url,
        "code": code if re.fullmatch(r"https?://[\w.-]+(/\S*)?", code) else None,
    }
    try:
        return validated(Paper, facts, Path(INFO), "paper")
    except TaskError as error:
        raise TaskError(str(error).replace("paper.year", "year").replace("paper.url", "paper_url")) from error


def read_summary(benchmark: Benchmark, paper: Paper) -> str:
    """Read the text of the paper from `paper.json`, and convert it to Markdown.

    Args:
        benchmark: The folder of the paper.
        paper: The paper, as `read_paper` returns it.

    Returns:
        The text as Markdown.

    Raises:
        TaskError: There is no `paper.json` with text in a known form.
    """
    title = paper_markdown(None, paper.title)
    names = paper_files(benchmark)
    for name in names:
        text = paper_markdown(_read_json(benchmark.folder, name), paper.title)
        if text != title:
            return plain_text(text) + "\n"
    raise TaskError(f"{names[0]}: no text in a known form" if names else f"{PAPER}: no such file")


def paper_files(benchmark: Benchmark) -> list[str]:
    """Return the paths of the `paper.json` files, which may be next to `info.json` and in the research code."""
    return [name for name in (PAPER, f"{benchmark.repository}/{PAPER}") if name in benchmark.files]


def read_target(benchmark: Benchmark, item: Mapping[str, Any], code: Mapping[str, bytes]) -> Target:
    """Read the target, the function to write, that an entry of `info.json` describes.

    Args:
        benchmark: The folder of the paper.
        item: The entry of the function in `info.json`.
        code: The contents of the research code's files, by path.

    Returns:
        The target.

    Raises:
        TaskError: The goal file or the function is missing or malformed.
    """
    goal = _named_file(benchmark, item, "goal_file")
    file = next((path for path in (goal, goal.removeprefix(f"{benchmark.repository}/")) if path in code), None)
    if file is None:
        there = {goal, f"{benchmark.repository}/{goal}"} & {*benchmark.files, *dict(benchmark.others)}
        raise TaskError(f"goal_file: {goal}{' was left out' if there else ': no such file'}")
    function, owner = plain_text(item.get("goal_function")).removesuffix("()"), plain_text(item.get("class_name"))
    if owner not in ("", "None") and not function.startswith(f"{owner}."):
        function = f"{owner}.{function}"
    try:
        target = Target.parse(f"{file}::{function}")
    except ValueError as error:
        raise TaskError(f"goal_function: {error}") from error
    try:
        find(code[file], target.qualname)
    except TaskError as error:
        raise TaskError(f"{file}: {error}") from error
    return target


def read_context(benchmark: Benchmark, item: Mapping[str, Any], code: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return those paths in an entry's `retrieval_context` that exist in the research code."""
    named = item.get("retrieval_context")
    paths = [path_inside(benchmark, path) or "" for path in (named if isinstance(named, list) else [named])]
    below = [path if path in code else path.removeprefix(f"{benchmark.repository}/") for path in paths]
    return tuple(sorted({path for path in below if path in code}))


def with_golden(benchmark: Benchmark, item: Mapping[str, Any], target: Target, goal: bytes) -> bytes:
    """Insert the golden of a function into its goal file.

    Args:
        benchmark: The folder of the paper.
        item: The entry of the function in `info.json`.
        target: The target that `read_target` returned for the entry.
        goal: The content of the goal file.

    Returns:
        The content of the goal file, with the golden's function and the helpers that it needs.

    Raises:
        TaskError: The golden is missing or malformed, or its function has no body.
    """
    path = _named_file(benchmark, item, "golden_file")
    places = (path, f"{GOLDENS}/{path}", f"{benchmark.repository}/{path}")
    place = next((name for name in places if name in benchmark.files), None)
    if place is None:
        raise TaskError(f"golden_file: {path}: no such file")
    try:
        golden = decode(read_foreign(benchmark.folder, place, MOST_BYTES) or b"")[0]
        result = transplant(goal, from_response(golden, [target.qualname]).text, [target.qualname]).data
    except SyntaxError as error:
        raise TaskError(f"{place}: {describe(error)}") from error
    except SubmissionError as error:
        raise TaskError(f"{place}: {str(error).replace('the candidate', 'the golden')}") from error
    if _is_stub(find(result, target.qualname).node):
        raise TaskError(f"{place}: {target.qualname} has no body")
    return result


def _read_info(folder: Path) -> dict[str, Any]:
    info = _read_json(folder, INFO)
    if not isinstance(info, dict):
        raise TaskError(f"{INFO}: {'no such file' if info is None else 'not a JSON object'}")
    return info


def _implementations(info: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = info.get("implementations")
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _read_json(folder: Path, name: str) -> object:
    """Return the content of a JSON file, or None if there is no such file."""
    try:
        data = read_foreign(folder, name, MOST_OF_A_TEXT)
        return None if data is None else json.loads(data)
    except SubmissionError as error:
        raise TaskError(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise TaskError(f"{name}: not valid JSON: {error}") from error


def _why_not_a_name(name: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    return ""


def _named_file(benchmark: Benchmark, item: Mapping[str, Any], key: str) -> str:
    path = path_inside(benchmark, item.get(key))
    if path is None:
        raise TaskError(f"{key}: {item.get(key)!r} is not a path inside the paper's folder")
    return path


def path_inside(benchmark: Benchmark, path: object) -> str | None:
    """Return a path relative to the paper's folder, or None if it is invalid or leads out of the folder."""
    name = PurePosixPath(plain_text(path))
    if not isinstance(path, str) or not name.parts or name.is_absolute() or ".." in name.parts:
        return None
    parts = name.parts
    own = benchmark.folder.name
    for known in ((BENCHMARK, UNPACKED, own), (BENCHMARK, own), (UNPACKED, own), (own,)):
        if parts[: len(known)] == known:
            parts = parts[len(known) :]
    return "/".join(parts) or None


def paths_in_code(benchmark: Benchmark, names: Sequence[str] | Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield those names that are inside the folder of the research code, each with its path relative to that folder."""
    for name in names:
        if name.startswith(f"{benchmark.repository}/"):
            yield name, name.removeprefix(f"{benchmark.repository}/")


def _is_stub(node: FunctionNode) -> bool:
    """Return whether a body contains only constants, `pass` and `raise NotImplementedError`."""
    return all(
        isinstance(part, ast.Pass)
        or (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
        or (isinstance(part, ast.Raise) and "NotImplementedError" in ast.unparse(part))
        for part in node.body
    )
