"""What does a folder of the public edition of LMR-BENCH ask for, and what is right?

A clone of the edition's repository holds a folder `benchmark` with one folder for each paper: `info.json`, the paper's
text, the research code, in which the functions that are asked for may be masked, and these functions in `golden_files`.
Somebody else wrote all of it: links are not followed, no path leads out of a folder, and nothing is read that is larger
than what is expected. What is missing or of another form is a `TaskError` that says so.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from lmrbench.authoring.drafting import MOST_BYTES, why_left_out
from lmrbench.authoring.paper_text import paper_markdown
from lmrbench.errors import SubmissionError, TaskError, UsageError
from lmrbench.pysource.functions import find
from lmrbench.pysource.responses import from_response
from lmrbench.pysource.source import FunctionNode, decode, describe
from lmrbench.pysource.transplant import transplant
from lmrbench.tasks.files import validated
from lmrbench.tasks.foreign import entries, read_foreign
from lmrbench.tasks.model import Paper, Target

BENCHMARK, INFO, PAPER, GOLDENS = "benchmark", "info.json", "paper.json", "golden_files"
MOST_OF_A_TEXT = 4 << 20
MOST_OF_A_REPOSITORY = 64 << 20
_TESTS = frozenset({"unit_test", "unit_tests"})


@dataclass(frozen=True)
class Benchmark:
    """A paper's folder. info: what `info.json` holds. files: what can be read there. others: what can't, and why.

    repository: the name of the folder that holds the research code.
    """

    folder: Path
    info: Mapping[str, Any]
    files: tuple[str, ...]
    others: tuple[tuple[str, str], ...]
    repository: str

    @property
    def implementations(self) -> list[Mapping[str, Any]]:
        """What is asked for, one function each."""
        found = self.info.get("implementations")
        return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []

    def text(self, key: str) -> str:
        """A text or a number of `info.json`, as text; "" for anything else."""
        return plain_text(self.info.get(key))


def plain_text(value: object) -> str:
    """A text or a number of a JSON file as text that can be written in UTF-8; "" for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return str(value).strip().encode("utf-8", "replace").decode()


def benchmark_folders(source: Path) -> list[Path]:
    """The folders of a clone's benchmarks, by number and name. Raises UsageError where there are none."""
    root = source / BENCHMARK if (source / BENCHMARK).is_dir() else source
    if not root.is_dir():
        raise UsageError(f"{source}: there is no such folder")
    found = [path for path in root.iterdir() if path.is_dir() and not path.name.startswith(".")]
    if not any((path / INFO).is_file() for path in found):
        raise UsageError(f"{source}: no folder here holds an {INFO}; expected a clone of the edition's repository")

    def place(path: Path) -> tuple[int, str]:
        number = re.match(r"[0-9]{1,9}", path.name)
        return int(number.group()) if number else 10**9, path.name

    return sorted(found, key=place)


def read_benchmark(folder: Path) -> Benchmark:
    """The facts of a paper's folder and the names of its files."""
    if folder.is_symlink():
        raise TaskError("is a link, which is not followed")
    info = _read_json(folder, INFO)
    if not isinstance(info, dict):
        raise TaskError(f"{INFO}: {'there is no such file' if info is None else 'is no JSON object'}")
    found = [(name, kind or _why_not_a_name(name)) for name, kind in entries(folder)]
    files = tuple(name for name, kind in found if not kind)
    named = info.get("repo_folder_name")
    within = str(PurePosixPath(named)) if isinstance(named, str) and named else ""
    if not any(name.startswith(f"{within}/") for name in files):
        tops = {name.partition("/")[0] for name in files if "/" in name} - {GOLDENS, *_TESTS}
        if len(tops) != 1:
            raise TaskError(f"{INFO}: repo_folder_name: there is no folder {within!r}")
        within = tops.pop()
    return Benchmark(folder, info, files, tuple((name, kind) for name, kind in found if kind), within)


def read_paper(benchmark: Benchmark, slug: str) -> Paper:
    """The paper as `info.json` has it; its venue is the host of its address."""
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
    """The text of the paper as `paper.json` has it, in Markdown. Raises TaskError where none is found."""
    value = _read_json(benchmark.folder, PAPER)
    title = paper_markdown(None, paper.title)
    text = paper_markdown(value, paper.title)
    if text == title:
        raise TaskError(f"{PAPER}: {'there is no such file' if value is None else 'holds no text in a known form'}")
    return plain_text(text) + "\n"


def read_code(benchmark: Benchmark) -> tuple[dict[str, bytes], dict[str, list[str]]]:
    """The research code by path, without goldens and tests; and by reason what else is not taken over."""
    tests = {name for item in benchmark.implementations if (name := _inside(benchmark, item.get("unit_test_file")))}
    tests |= {f"{benchmark.repository}/{name}" for name in tests}
    kept: dict[str, bytes] = {}
    left_out: dict[str, list[str]] = {}
    size = 0
    for name, path in _below(benchmark, benchmark.files):
        if name in tests or _is_test_or_golden(path):
            continue
        reason, data = why_left_out(path), None
        try:
            data = None if reason else read_foreign(benchmark.folder, name, MOST_BYTES)
        except SubmissionError as error:
            reason = str(error).removeprefix(f"{name}: ")
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


def read_target(benchmark: Benchmark, item: Mapping[str, Any], code: Mapping[str, bytes]) -> Target:
    """The function that an implementation asks for, which is in the research code."""
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
    """The files that `retrieval_context` names, as far as they are in the research code."""
    named = item.get("retrieval_context")
    paths = [_inside(benchmark, path) or "" for path in (named if isinstance(named, list) else [named])]
    below = [path if path in code else path.removeprefix(f"{benchmark.repository}/") for path in paths]
    return tuple(sorted({path for path in below if path in code}))


def with_golden(benchmark: Benchmark, item: Mapping[str, Any], target: Target, goal: bytes) -> bytes:
    """A goal file with the golden's function, and what it needs beside it."""
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
    """What a JSON file holds; None where there is none."""
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
    """A path, from the benchmark's folder on; None for what is no path, or leads out of the folder."""
    name = PurePosixPath(plain_text(path))
    if not isinstance(path, str) or not name.parts or name.is_absolute() or ".." in name.parts:
        return None
    parts = name.parts
    for known in ((BENCHMARK, benchmark.folder.name), (benchmark.folder.name,)):
        if parts[: len(known)] == known:
            parts = parts[len(known) :]
    return "/".join(parts) or None


def _below(benchmark: Benchmark, names: Sequence[str] | Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The names that lie in the folder of the research code, each with its path from there on."""
    for name in names:
        if name.startswith(f"{benchmark.repository}/"):
            yield name, name.removeprefix(f"{benchmark.repository}/")


def _is_test_or_golden(path: str) -> bool:
    place = PurePosixPath(path)
    return bool({GOLDENS, *_TESTS} & {*place.parts}) or place.stem.endswith("_golden")


def _is_stub(node: FunctionNode) -> bool:
    """Whether a body holds nothing but constants, `pass` and an exception that says so."""
    return all(
        isinstance(part, ast.Pass)
        or (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
        or (isinstance(part, ast.Raise) and "NotImplementedError" in ast.unparse(part))
        for part in node.body
    )
