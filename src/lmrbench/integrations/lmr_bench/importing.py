"""Import the public edition of LMR-BENCH as a suite, and report everything that was not imported.

Each golden, the reference implementation of a function, is inserted into the research code. The mask, the code without
the bodies of the functions to write, is computed from the result. Goldens, tests and bytecode are not copied. A task
gets a check, which draws inputs and observes results, if its function can be observed (see `adapting`). Tasks without a
check can be solved but not graded.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tomli_w

from lmrbench.authoring.audit.certificate import LEAK_SHARE
from lmrbench.authoring.audit.leaks import Leak, worst_leak
from lmrbench.errors import LmrbenchError, TaskError, UsageError
from lmrbench.integrations.lmr_bench.adapting import Adapted, adapted_check, same_function, same_paper
from lmrbench.integrations.lmr_bench.edition import (
    INFO,
    Benchmark,
    benchmark_folders,
    plain_text,
    read_benchmark,
    read_context,
    read_paper,
    read_summary,
    read_target,
    with_golden,
)
from lmrbench.integrations.lmr_bench.imported import ImportedEdition, ImportedTask, Remark
from lmrbench.integrations.lmr_bench.paper_text import paper_markdown
from lmrbench.integrations.lmr_bench.research_code import read_code
from lmrbench.tasks.loading import default_suite, load_facts, load_paper, load_suite
from lmrbench.tasks.model import Paper, Suite, Target, Task

SUITE_NAME, SUITE_VERSION = "lmr_bench_public", "1"
MOST_LEAKS = 20


@dataclass(frozen=True)
class _Wanted:
    """A function of the edition that can become a task, and its place in `info.json`."""

    function: int
    name: str
    category: str
    target: Target
    instruction: str
    context: tuple[str, ...]


def import_edition(
    source: Path, to: Path, advance: Callable[[int, int], None] = lambda done, total: None
) -> ImportedEdition:
    """Import the public edition as a suite. The suite is written atomically, and only if it has at least one task.

    Args:
        source: A clone of the edition's repository.
        to: The folder of the suite; new or empty.
        advance: Called after each paper's folder, with the number of folders processed and the number of all folders.

    Returns:
        The imported tasks, with remarks on them and a list of everything that was left out.

    Raises:
        UsageError: The source has no folders of papers, or `to` is not empty.
    """
    if to.is_symlink() or (to.exists() and (not to.is_dir() or any(to.iterdir()))):
        raise UsageError(f"{to} is not empty; choose a new or empty folder")
    folders = benchmark_folders(source)
    core = load_suite(default_suite())
    facts = load_facts(default_suite())
    suite = Suite(name=SUITE_NAME, version=SUITE_VERSION, categories=facts.categories if facts else {})
    made: list[ImportedTask] = []
    left_out: list[Remark] = []
    remarks: list[Remark] = []
    missing = {task.id: task.paper.slug for task in core if task.tier == "function"}
    absent = {*missing.values()}
    slugs: set[str] = set()
    instances: dict[str, str] = {}
    to.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{to.name}-", dir=to.parent))
    try:
        (temporary / "suite.toml").write_text(
            tomli_w.dumps(suite.model_dump(include={"name", "version", "categories"})), "utf-8"
        )
        for number, folder in enumerate(folders, 1):
            slug = _unused(_slug(re.sub(r"^[0-9]+[\s_.-]+", "", folder.name), "paper"), slugs)
            try:
                benchmark = read_benchmark(folder)
                _require_new(benchmark, instances)
                paper = read_paper(benchmark, slug)
                absent -= {task.paper.slug for task in same_paper(paper, core)}
                tasks, of_tasks = _make(benchmark, paper, temporary / slug, suite, core, left_out)
            except (LmrbenchError, RecursionError) as error:
                reason = str(error).replace(f"{temporary}/", "")
                left_out.append(Remark(where=folder.name, reason=reason))
            else:
                slugs.add(slug)
                made += tasks
                remarks += of_tasks
                for task in tasks:
                    missing.pop(_counterpart(task, same_paper(paper, core)), None)
            advance(number, len(folders))
        if missing:
            reason = f"not imported: {', '.join(sorted(missing))}"
            if absent:
                reason += f"; no readable folder for the papers {', '.join(sorted(absent))}"
            left_out.append(Remark(where=f"{len(missing)} of the tasks of core", reason=reason))
        if made:
            temporary.chmod(0o755)
            temporary.replace(to)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return ImportedEdition(tasks=tuple(made), left_out=tuple(left_out), remarks=tuple(remarks))


def _counterpart(made: ImportedTask, known: Sequence[Task]) -> str:
    """Return the id of the paper's task in `core` with the same function, or "" if there is none."""
    found = same_function(made.target.rpartition("::")[2].rpartition(".")[2], known)
    return found.id if found else ""


def _require_new(benchmark: Benchmark, instances: dict[str, str]) -> None:
    """Record the id of a paper's folder. Raise TaskError if an earlier folder has the same id."""
    name = benchmark.text("instance_id")
    if name in instances:
        raise TaskError(f"{INFO}: instance_id: {name!r} is also the id of {instances[name]}")
    if name:
        instances[name] = benchmark.folder.name


def _make(
    benchmark: Benchmark, paper: Paper, place: Path, suite: Suite, core: Sequence[Task], left_out: list[Remark]
) -> tuple[list[ImportedTask], list[Remark]]:
    """Write the folder of a paper, and load its tasks. If this fails, no folder is left.

    Args:
        benchmark: The paper's folder in the edition.
        paper: The paper.
        place: The folder to write.
        suite: The new suite.
        core: The tasks of the suite `core`.
        left_out: The list to which omissions are added.

    Returns:
        The tasks, and remarks on them.

    Raises:
        TaskError: No function can be imported.
    """
    name = benchmark.folder.name
    code, not_taken = read_code(benchmark)
    for reason, paths in not_taken.items():
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        left_out.append(Remark(where=f"{name}: {paths[0]}{more}", reason=reason))
    wanted = _wanted(benchmark, code, suite, same_paper(paper, core), left_out)
    if not wanted:
        raise TaskError("no function can be imported")
    for goal, path in _copies(code, {item.target.file for item in wanted}):
        del code[path]
        left_out.append(Remark(where=f"{name}: {path}", reason=f"a copy of {goal}"))
    remarks: list[Remark] = []
    try:
        summary = read_summary(benchmark, paper)
    except TaskError as error:
        summary = paper_markdown(None, paper.title)
        remarks.append(Remark(where=paper.slug, reason=f"paper.md has only the title: {error}"))
    checks: dict[str, Adapted] = {}
    for item in wanted:
        try:
            checks[item.name] = adapted_check(paper, item.target, item.instruction, code, core)
        except TaskError as error:
            remarks.append(Remark(where=f"{paper.slug}/{item.name}", reason=f"no check: {error}"))
    files = {f"repo/{path}": data for path, data in code.items()}
    files |= {f"checks/{task}.py": check.text.encode() for task, check in checks.items()}
    files |= {"task.toml": _table(paper, wanted, checks, code).encode(), "paper.md": summary.encode()}
    try:
        for path, data in files.items():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_bytes(data)
        tasks = load_paper(place, suite)
        for leak in dict.fromkeys(leak for task in tasks for leak in _leaks(task)):
            remarks.append(Remark(where=paper.slug, reason=f"{leak.place} contains {leak.share:.0%} of an answer"))
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    functions = {item.name: item.function for item in wanted}
    return [_imported(task, checks.get(task.name), name, functions[task.name]) for task in tasks], remarks


def _leaks(task: Task) -> Iterator[Leak]:
    """Yield the parts of a task's workspace that contain more of an answer than an audit allows, the worst first.

    Stop after `MOST_LEAKS` files, or after a leak in a goal file (a file with a function to write), the summary or the
    instruction.
    """
    goals = {target.file for target in (*task.targets, *task.siblings)}
    code = dict(task.files.repository)
    for _ in range(MOST_LEAKS):
        leak = worst_leak(task.model_copy(update={"files": replace(task.files, repository=code)}))
        if leak.share <= LEAK_SHARE:
            return
        yield leak
        path = leak.place.partition("::")[0].removeprefix("repo/")
        if path not in code or path in goals:
            return
        # The search finds one file at a time, so search again without that file.
        code = {name: data for name, data in code.items() if name != path}


def _imported(task: Task, check: Adapted | None, benchmark: str, function: int) -> ImportedTask:
    return ImportedTask(
        task=task.id,
        category=task.category,
        target=str(task.targets[0]),
        check=check.of.id if check else "",
        benchmark=benchmark,
        function=function,
    )


def _wanted(
    benchmark: Benchmark, code: dict[str, bytes], suite: Suite, known: Sequence[Task], left_out: list[Remark]
) -> list[_Wanted]:
    """Read the functions that can become tasks, and insert their goldens into the code.

    Args:
        benchmark: The paper's folder in the edition.
        code: The contents of the research code's files, by path; the goldens are inserted into them.
        suite: The new suite.
        known: The tasks of the paper in `core`.
        left_out: The list to which omissions are added.

    Returns:
        The functions, in the order of `info.json`.
    """
    found: list[_Wanted] = []
    for number, item in enumerate(benchmark.implementations):
        try:
            wanted = _one(benchmark, number, item, code, suite, known, found)
            code[wanted.target.file] = with_golden(benchmark, item, wanted.target, code[wanted.target.file])
        except LmrbenchError as error:
            what = plain_text(item.get("goal_function")) or f"implementations[{number}]"
            left_out.append(Remark(where=f"{benchmark.folder.name}: {what}", reason=str(error)))
        else:
            found.append(wanted)
    return found


def _one(
    benchmark: Benchmark,
    function: int,
    item: Mapping[str, Any],
    code: Mapping[str, bytes],
    suite: Suite,
    known: Sequence[Task],
    found: Sequence[_Wanted],
) -> _Wanted:
    instruction = plain_text(item.get("instruction"))
    if not instruction:
        raise TaskError("instruction: missing")
    target = read_target(benchmark, item, code)
    if target in [other.target for other in found]:
        raise TaskError("an earlier entry describes the same function")
    name = target.qualname.rpartition(".")[2]
    return _Wanted(
        function=function,
        name=_unused(_slug(name, "task"), {other.name for other in found}),
        category=_category(plain_text(item.get("category")), suite, same_function(name, known)),
        target=target,
        instruction=instruction,
        context=tuple(path for path in read_context(benchmark, item, code) if path != target.file),
    )


def _copies(code: Mapping[str, bytes], goals: Collection[str]) -> list[tuple[str, str]]:
    """Return the identical copies of goal files, which would reveal answers, as pairs of goal file and copy."""
    pairs = [(goal, path) for goal in sorted(goals) for path in code if path not in goals]
    return [(goal, path) for goal, path in pairs if code[path] == code[goal]]


def _category(text: str, suite: Suite, task: Task | None) -> str:
    """Return the category of the suite that matches a category of the edition.

    The best match is the category with the largest share of its words in the text, if the share is at least a half and
    there is no tie. Without a match, the category of the task in `core` is used. Raises TaskError if there is no such
    task.
    """
    given = _words(text)
    shares = {
        name: len(given & words) / len(words) for name, title in suite.categories.items() if (words := _words(title))
    }
    best = max(shares.values(), default=0.0)
    found = [name for name, share in shares.items() if share == best]
    if best >= 0.5 and len(found) == 1:
        return found[0]
    if task is not None and task.category in suite.categories:
        return task.category
    raise TaskError(f"category: unknown category {text!r} (known: {', '.join(suite.categories)})")


def _words(text: str) -> frozenset[str]:
    """Return the words of a category, without the endings -s and -ing."""
    return frozenset(re.sub(r"(?<=..)(s|ing)$", "", word) for word in re.findall(r"[a-z]+", text.casefold()))


def _slug(text: str, otherwise: str) -> str:
    """Convert a text to lower-case letters, digits and underscores, or to `otherwise` if nothing is left of it."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "_", plain).strip("_") or otherwise


def _unused(name: str, taken: set[str]) -> str:
    number = 2
    unused = name
    while unused in taken:
        unused, number = f"{name}_{number}", number + 1
    return unused


def _table(paper: Paper, wanted: Sequence[_Wanted], checks: Mapping[str, Adapted], code: Mapping[str, bytes]) -> str:
    """Return the text of task.toml."""
    facts = paper.model_dump(mode="json", include={"slug", "title", "year", "venue", "url", "code"}, exclude_none=True)
    tasks = []
    for item in wanted:
        check = checks.get(item.name)
        entry: dict[str, Any] = {
            "name": item.name,
            "category": item.category,
            "targets": [str(item.target)],
            "instruction": f"{item.instruction}\n",
            "context": [path for path in item.context if path in code],
            "check": f"checks/{item.name}.py" if check else "",
        }
        if check is not None:
            entry["imports"] = check.imports
            # A tolerance for results in single precision.
            entry["tolerance"] = {"rtol": 1e-4, "atol": 1e-5}
        tasks.append(entry)
    return tomli_w.dumps({"paper": facts, "task": tasks}, multiline_strings=True)
