"""Read the research code of LMR-BENCH's public edition, without goldens (reference implementations) and unit tests."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from pathlib import PurePosixPath

from lmrbench.authoring.new.drafting import MOST_BYTES, why_left_out
from lmrbench.errors import SubmissionError, TaskError
from lmrbench.integrations.lmr_bench.edition import (
    GOLDENS,
    UNIT_TEST,
    Benchmark,
    paper_files,
    path_inside,
    paths_in_code,
)
from lmrbench.source.syntax import decode
from lmrbench.tasks.foreign import read_foreign

MOST_OF_A_REPOSITORY = 64 << 20
_PICKLES = frozenset({".pkl", ".pickle"})
_POINTER = b"version https://git-lfs"


def read_code(benchmark: Benchmark) -> tuple[dict[str, bytes], dict[str, list[str]]]:
    """Read the research code of a paper.

    Goldens, the paper's text and unit tests are left out without being reported. But a unit test is kept, together with
    the test modules that it imports, if it is a goal file, which is a file that contains a function to write.

    Args:
        benchmark: The folder of the paper.

    Returns:
        The contents of the files, by path, and the paths of the files that were left out, by reason. Paths are relative
        to the research code or, for a goal file outside of it, to the paper's folder.

    Raises:
        TaskError: The research code is too large.
    """
    tests = {name for item in benchmark.implementations if (name := path_inside(benchmark, item.get("unit_test_file")))}
    tests |= {f"{benchmark.repository}/{name}" for name in tests}
    wanted = _wanted_of_tests(benchmark, tests)
    papers = paper_files(benchmark)
    places = dict(paths_in_code(benchmark, benchmark.files))
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
            reason, data = "a Git LFS pointer; the clone lacks the file", None
        if data is None:
            left_out.setdefault(reason, []).append(path)
            continue
        kept[path] = data
        size += len(data)
        if size > MOST_OF_A_REPOSITORY:
            raise TaskError(f"{benchmark.repository}: more than {MOST_OF_A_REPOSITORY >> 20} MB of files")
    reasons = dict(benchmark.others)
    for name, path in paths_in_code(benchmark, reasons):
        left_out.setdefault(reasons[name], []).append(path)
    return kept, left_out


def _wanted_of_tests(benchmark: Benchmark, tests: Collection[str]) -> set[str]:
    """Return the unit-test files that are goal files, and the unit-test modules that they import."""
    goals = [path_inside(benchmark, item.get("goal_file")) or "" for item in benchmark.implementations]
    places = [(f"{benchmark.repository}/{goal}", goal) for goal in goals]
    found = {next((name for name in names if name in benchmark.files), "") for names in places}
    found = pending = {name for name in found if name in tests or _is_test(name)}
    while pending:
        pending = {other for name in pending for other in _imported_files(benchmark, name) if _is_test(other)} - found
        found |= pending
    return found


def _imported_files(benchmark: Benchmark, name: str) -> Iterator[str]:
    """Yield the files that a file imports from its own folder or a parent folder."""
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


def _is_golden(path: str) -> bool:
    place = PurePosixPath(path)
    return GOLDENS in place.parts or place.stem.endswith("_golden")


def _is_test(path: str) -> bool:
    place = PurePosixPath(path)
    return any(UNIT_TEST.fullmatch(part) for part in (*place.parts[:-1], place.stem))


def _why_left_out(path: str) -> str:
    is_pickle = PurePosixPath(path).suffix.lower() in _PICKLES
    return "a pickle with inputs and outputs of unit tests" if is_pickle else why_left_out(path)
