"""Read the folders of the public edition of LMR-BENCH: the functions that each asks for, and their goldens.

A clone of the edition's repository holds one folder for each paper, in `benchmark` or, if its archive was unpacked as
the edition's README describes, in `benchmark/datasets`. A folder holds `info.json`, the research code, in which the
functions may be masked, and these functions in `golden_files`. The paper's text is in `paper.json`, in the folder or in
the research code. All of it is untrusted: links are not followed, no path leads out of a folder, and sizes are bounded.
A file that is missing or has another form raises TaskError.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from lmrbench.authoring.new.drafting import MOST_BYTES, why_left_out
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
MOST_OF_A_REPOSITORY = 64 << 20
# Folders and scripts of unit tests: `unit_test`, `unit_tests`, `unit_test_3`.
_TEST = re.compile(r"unit[ _-]?tests?[ _-]?\d*", re.IGNORECASE)
_PICKLES = frozenset({".pkl", ".pickle"})
_POINTER = b"version https://git-lfs"


@dataclass(frozen=True)
class Benchmark:
    """A paper's folder.

    Attributes:
        folder: its path.
        info: the content of `info.json`.
        files: the readable files.
        others: each other file, with the reason why it is not read.
        repository: the name of the folder of the research code.
    """

    folder: Path
    info: Mapping[str, Any]
    files: tuple[str, ...]
    others: tuple[tuple[str, str], ...]
    repository: str

    @property
    def implementations(self) -> list[Mapping[str, Any]]:
        """The functions that are asked for, one entry each."""
        found = self.info.get("implementations")
        return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []

    def text(self, key: str) -> str:
        """Return a string or integer of `info.json` as text, or "" for anything else."""
        return plain_text(self.info.get(key))


def plain_text(value: object) -> str:
    """Return a string or integer of a JSON file as text that UTF-8 can encode, or "" for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return str(value).strip().encode("utf-8", "replace").decode()


def benchmark_folders(source: Path) -> list[Path]:
    """Return the folders of the papers, ordered by number and name.

    Args:
        source: a clone, its folder `benchmark`, or the folder `datasets` of an unpacked archive.

    Raises:
        UsageError: no folder holds an `info.json`.
    """
    root = source / BENCHMARK if (source / BENCHMARK).is_dir() else source
    if not root.is_dir():
        raise UsageError(f"{source}: there is no such folder")
    found = _folders(root)
    unpacked = root / UNPACKED
    if unpacked in found and not (unpacked / INFO).is_file():
        found = [*(path for path in found if path != unpacked), *_folders(unpacked)]
    if not any((path / INFO).is_file() for path in found):
        raise UsageError(
            f"{source}: no folder here holds an {INFO}; expected a clone of the edition's repository, its folder "
            f"{BENCHMARK}, or the folder {UNPACKED} of its archive"
        )

    def place(path: Path) -> tuple[int, str]:
        number = re.match(r"[0-9]{1,9}", path.name)
        return int(number.group()) if number else 10**9, path.name

    return sorted(found, key=place)


def _folders(root: Path) -> list[Path]:
    """Return the folders in a folder, without hidden ones and those that archives of macOS add."""
    return [path for path in root.iterdir() if path.is_dir() and not path.name.startswith((".", "__"))]


def read_benchmark(folder: Path) -> Benchmark:
    """Read the facts of a paper's folder and the names of its files."""
    if folder.is_symlink():
        raise TaskError("is a link, which is not followed")
    if not any(folder.iterdir()):
        raise TaskError("is empty, as a clone leaves the folder of a submodule: its files are in another repository")
    info = _read_json(folder, INFO)
    if not isinstance(info, dict):
        raise TaskError(f"{INFO}: {'there is no such file' if info is None else 'is no JSON object'}")
    found = [(name, kind or _why_not_a_name(name)) for name, kind in entries(folder)]
    files = tuple(name for name, kind in found if not kind)
    named = info.get("repo_folder_name")
    within = str(PurePosixPath(named)) if isinstance(named, str) and named else ""
    if not any(name.startswith(f"{within}/") for name in files):
        tops = {name.partition("/")[0] for name in files if "/" in name} - {GOLDENS}
        tops = {name for name in tops if not _TEST.fullmatch(name)}
        if len(tops) != 1:
            raise TaskError(
                f"{INFO}: repo_folder_name: there is no folder {within!r} with files; the edition links some research "
                "code as a submodule, whose files are in another repository"
            )
        within = tops.pop()
    return Benchmark(folder, info, files, tuple((name, kind) for name, kind in found if kind), within)


def read_paper(benchmark: Benchmark, slug: str) -> Paper:
    """Read the paper's facts from `info.json`. Its venue is the host of its address."""
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
    """Return the text of `paper.json` in Markdown. Raises TaskError if it holds none."""
    title = paper_markdown(None, paper.title)
    names = _paper_files(benchmark)
    for name in names:
        text = paper_markdown(_read_json(benchmark.folder, name), paper.title)
        if text != title:
            return plain_text(text) + "\n"
    raise TaskError(f"{names[0]}: holds no text in a known form" if names else f"{PAPER}: there is no such file")


def _paper_files(benchmark: Benchmark) -> list[str]:
    """Return the files that may hold the paper, next to `info.json` and in the research code."""
    return [name for name in (PAPER, f"{benchmark.repository}/{PAPER}") if name in benchmark.files]


def read_code(benchmark: Benchmark) -> tuple[dict[str, bytes], dict[str, list[str]]]:
    """Read the research code.

    Goldens, the paper's text and unit tests are left out without a reason. A goal file among unit tests is included,
    with the test modules that it imports; if it is outside of the research code, under its path in the benchmark.

    Returns:
        The files by path, and the paths that are left out, by reason.
    """
    tests = {name for item in benchmark.implementations if (name := _inside(benchmark, item.get("unit_test_file")))}
    tests |= {f"{benchmark.repository}/{name}" for name in tests}
    wanted = _wanted_of_tests(benchmark, tests)
    papers = _paper_files(benchmark)
    places = dict(_below(benchmark, benchmark.files))
    places |= {name: places.get(name, name) for name in wanted}
    kept: dict[str, bytes] = {}
    left_out: dict[str, list[str]] = {}
    size = 0
    for name, path in places.items():
        if name in papers or _is_golden(path) or (name not in wanted and (name in tests or _is_test(path))):
            continue
        reason, data = _why_left_out(path), None
        try:
            data = None if reason else read_foreign(benchmark.folder, name, MOST_BYTES)
        except SubmissionError as error:
            reason = str(error).removeprefix(f"{name}: ")
        if data is not None and data.startswith(_POINTER):
            reason, data = "a pointer of Git LFS; the clone lacks the file", None
        if data is None:
            left_out.setdefault(reason, []).append(path)
            continue
        kept[path] = data
        size += len(data)
        if size > MOST_OF_A_REPOSITORY:
            raise TaskError(f"{benchmark.repository}: holds more than {MOST_OF_A_REPOSITORY >> 20} MB of files")
    reasons = dict(benchmark.others)
    for name, path in _below(benchmark, reasons):
        left_out.setdefault(reasons[name], []).append(path)
    return kept, left_out


def _wanted_of_tests(benchmark: Benchmark, tests: Collection[str]) -> set[str]:
    """Return the goal files among unit tests, and the test modules that they import."""
    goals = [_inside(benchmark, item.get("goal_file")) or "" for item in benchmark.implementations]
    places = [(f"{benchmark.repository}/{goal}", goal) for goal in goals]
    found = {next((name for name in names if name in benchmark.files), "") for names in places}
    found = pending = {name for name in found if name in tests or _is_test(name)}
    while pending:
        pending = {other for name in pending for other in _imported_beside(benchmark, name) if _is_test(other)} - found
        found |= pending
    return found


def _imported_beside(benchmark: Benchmark, name: str) -> Iterator[str]:
    """Yield the files that a file imports from its folder, or from a parent of it."""
    try:
        tree = ast.parse(decode(read_foreign(benchmark.folder, name, MOST_BYTES) or b"")[0])
    except (SyntaxError, SubmissionError, RecursionError):
        return
    for node in ast.walk(tree):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or "", *(f"{node.module or ''}.{alias.name}" for alias in node.names)]
        for module in modules:
            place = module.strip(".").replace(".", "/")
            files = (f"{folder / place}.py" for folder in PurePosixPath(name).parents)
            yield from (file for file in files if file in benchmark.files)


def read_target(benchmark: Benchmark, item: Mapping[str, Any], code: Mapping[str, bytes]) -> Target:
    """Return the function that an implementation asks for. Raises TaskError if the research code lacks it."""
    goal = _named_file(benchmark, item, "goal_file")
    file = next((path for path in (goal, goal.removeprefix(f"{benchmark.repository}/")) if path in code), None)
    if file is None:
        there = {goal, f"{benchmark.repository}/{goal}"} & {*benchmark.files, *dict(benchmark.others)}
        raise TaskError(f"goal_file: {goal}: {'is left out' if there else 'there is no such file'}")
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
    """Return the files of `retrieval_context` that are in the research code."""
    named = item.get("retrieval_context")
    paths = [_inside(benchmark, path) or "" for path in (named if isinstance(named, list) else [named])]
    below = [path if path in code else path.removeprefix(f"{benchmark.repository}/") for path in paths]
    return tuple(sorted({path for path in below if path in code}))


def with_golden(benchmark: Benchmark, item: Mapping[str, Any], target: Target, goal: bytes) -> bytes:
    """Return a goal file with the golden's function, and the helpers that it needs."""
    path = _named_file(benchmark, item, "golden_file")
    places = (path, f"{GOLDENS}/{path}", f"{benchmark.repository}/{path}")
    place = next((name for name in places if name in benchmark.files), None)
    if place is None:
        raise TaskError(f"golden_file: {path}: there is no such file")
    try:
        golden = decode(read_foreign(benchmark.folder, place, MOST_BYTES) or b"")[0]
        result = transplant(goal, from_response(golden, [target.qualname]).text, [target.qualname]).data
    except SyntaxError as error:
        raise TaskError(f"{place}: {describe(error)}") from error
    except SubmissionError as error:
        raise TaskError(f"{place}: {str(error).replace('the candidate', 'the golden')}") from error
    if _is_stub(find(result, target.qualname).node):
        raise TaskError(f"{place}: {target.qualname} has no body there")
    return result


def _read_json(folder: Path, name: str) -> object:
    """Return the content of a JSON file, or None if there is no such file."""
    try:
        data = read_foreign(folder, name, MOST_OF_A_TEXT)
        return None if data is None else json.loads(data)
    except SubmissionError as error:
        raise TaskError(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise TaskError(f"{name}: is not JSON: {error}") from error


def _why_not_a_name(name: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    return ""


def _named_file(benchmark: Benchmark, item: Mapping[str, Any], key: str) -> str:
    path = _inside(benchmark, item.get(key))
    if path is None:
        raise TaskError(f"{key}: {item.get(key)!r} is no path inside of the benchmark's folder")
    return path


def _inside(benchmark: Benchmark, path: object) -> str | None:
    """Return a path relative to the benchmark's folder, or None if it is no path or leads out of the folder."""
    name = PurePosixPath(plain_text(path))
    if not isinstance(path, str) or not name.parts or name.is_absolute() or ".." in name.parts:
        return None
    parts = name.parts
    own = benchmark.folder.name
    for known in ((BENCHMARK, UNPACKED, own), (BENCHMARK, own), (UNPACKED, own), (own,)):
        if parts[: len(known)] == known:
            parts = parts[len(known) :]
    return "/".join(parts) or None


def _below(benchmark: Benchmark, names: Sequence[str] | Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the names in the folder of the research code, each with its path relative to that folder."""
    for name in names:
        if name.startswith(f"{benchmark.repository}/"):
            yield name, name.removeprefix(f"{benchmark.repository}/")


def _is_golden(path: str) -> bool:
    place = PurePosixPath(path)
    return GOLDENS in place.parts or place.stem.endswith("_golden")


def _is_test(path: str) -> bool:
    place = PurePosixPath(path)
    return any(_TEST.fullmatch(part) for part in (*place.parts[:-1], place.stem))


def _why_left_out(path: str) -> str:
    is_pickle = PurePosixPath(path).suffix.lower() in _PICKLES
    return "a pickle, as the edition's unit tests keep their inputs and outputs" if is_pickle else why_left_out(path)


def _is_stub(node: FunctionNode) -> bool:
    """Return whether a body consists of constants, `pass` and raising NotImplementedError."""
    return all(
        isinstance(part, ast.Pass)
        or (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
        or (isinstance(part, ast.Raise) and "NotImplementedError" in ast.unparse(part))
        for part in node.body
    )
