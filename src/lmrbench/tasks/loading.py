"""Load suites and validate their tasks.

A suite is a folder of paper folders; a paper folder contains a `task.toml`. Everything is validated when it is loaded:
a defect raises a `TaskError` that names the file and the key. The files of a paper folder are read once, when its tasks
are loaded, except those of a pinned source (published code in the cache), which are read on access.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmrbench.errors import TaskError
from lmrbench.source.functions import find
from lmrbench.tasks.files import parsed_table, read_table, read_text, read_text_if_there, validated
from lmrbench.tasks.model import Paper, Suite, Target, Task, TaskEntry, TaskFiles, Tier
from lmrbench.tasks.sources.origin import Source, Tree, is_fetched
from lmrbench.tasks.tiers.logged import RESULTS
from lmrbench.tasks.tiers.method import method_task
from lmrbench.tasks.tiers.twin import twins
from lmrbench.tasks.workspace import folder_files
from lmrbench.tasks.wrong import wrong_versions


def default_suite() -> Path:
    """Return the folder of the suite `core`: inside the installed package, or next to src/ in a checkout."""
    package = Path(__file__).resolve().parents[1]
    packaged = package / "suite"
    return packaged if packaged.is_dir() else package.parents[1] / "suite"


# The other suites that come with lmrbench. Each is a folder inside the folder of `core`.
_BESIDE_CORE = ("real", "live", "all")


def suite_folder(name: str | Path | None) -> Path:
    """Return the folder of a suite.

    Args:
        name: `core`, `real`, `live` or `all`, which come with lmrbench, or a folder. None and "" mean `core`.
    """
    if name is None or str(name) in ("", "core"):
        return default_suite()
    return default_suite() / str(name) if str(name) in _BESIDE_CORE else Path(name)


def suite_folders(folder: Path) -> tuple[Path, ...]:
    """Return the folder of a suite, followed by those of the suites that it combines."""
    facts = load_facts(folder)
    named = facts.suites if facts else ()
    parts = (name if name == "core" or name in _BESIDE_CORE else folder / name for name in named)
    return (folder, *map(suite_folder, parts))


def suite_name(tasks: Iterable[Task]) -> str:
    """Return the names and versions of the suites that tasks belong to, joined by "and"; "" if they have none."""
    return " and ".join(dict.fromkeys(str(task.suite) for task in tasks if task.suite))


def load_suite(folder: Path | None = None) -> tuple[Task, ...]:
    """Load every task of a suite, ordered by paper and then as in task.toml.

    Args:
        folder: The folder of the suite; by default, that of the suite `core`.

    Raises:
        TaskError: The suite is malformed. The message names the file and the key.
    """
    folder = default_suite() if folder is None else folder
    if not folder.is_dir():
        raise TaskError(f"{folder}: there is no such suite folder; core, real, live and all come with lmrbench")
    papers = sorted(path.parent for path in folder.glob("*/task.toml"))
    suite = load_facts(folder)
    if suite is not None and suite.suites:
        return _joined(folder, papers)
    if not papers:
        raise TaskError(f"{folder} contains no paper folders (folders with a task.toml)")
    return tuple(task for paper in papers for task in load_paper(paper, suite))


def _joined(folder: Path, papers: Sequence[Path]) -> tuple[Task, ...]:
    """Load the tasks of all suites that a suite combines."""
    file, parts = folder / "suite.toml", suite_folders(folder)[1:]
    if papers:
        raise TaskError(
            f"{file}: suites: the folder also contains the paper {papers[0].name}; remove the paper or the key `suites`"
        )
    for part in parts:
        if len(suite_folders(part)) > 1:
            raise TaskError(f"{file}: suites: {part} combines suites itself; list those suites instead")
    tasks = tuple(task for part in parts for task in load_suite(part))
    if twice := [name for name, count in Counter(task.id for task in tasks).items() if count > 1]:
        raise TaskError(f"{file}: suites: two suites contain the task {twice[0]!r}; remove one of these suites")
    return tasks


def load_facts(folder: Path) -> Suite | None:
    """Read the `suite.toml` of a suite, or return None if there is none."""
    file = folder / "suite.toml"
    text = read_text_if_there(file, folder)
    return None if text is None else validated(Suite, parsed_table(text, file), file, "")


def load_paper(folder: Path, suite: Suite | None = None) -> tuple[Task, ...]:
    """Load the tasks of one paper folder, and check that all files and targets that they name exist.

    Args:
        folder: The paper folder.
        suite: The suite that contains the paper, if its folder has a suite.toml.

    Raises:
        TaskError: The paper folder is malformed. The message names the file and the key.
    """
    file = folder / "task.toml"
    table = read_table(file, folder.parent)
    if unknown := sorted(table.keys() - {"paper", "source", "task"}):
        raise TaskError(f"{file}: unknown key {unknown[0]!r}; expected [paper], [source] and [[task]]")
    paper = validated(Paper, table.get("paper", {}), file, "paper")
    if paper.slug != folder.name:
        raise TaskError(f"{file}: paper.slug is {paper.slug!r}, but the name of the folder is {folder.name!r}")
    entries = table.get("task", [])
    if not isinstance(entries, list) or not entries:
        raise TaskError(f"{file}: task: expected at least one [[task]]")
    repository = load_repository(folder)
    checked = [_entry(table, folder, f"task[{index}]", repository) for index, table in enumerate(entries)]
    for index, entry in enumerate(checked):
        if suite is not None and suite.categories and entry.category not in suite.categories:
            known = ", ".join(suite.categories)
            raise TaskError(f"{file}: task[{index}].category: {entry.category!r} is unknown; expected one of: {known}")
    names = [entry.name for entry in checked]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise TaskError(f"{file}: task.name: {twice[0]!r} is used twice; rename one of the tasks")
    beside: dict[Tier, tuple[str, ...]] = {}
    for entry in checked:
        beside[entry.tier] = (*beside.get(entry.tier, ()), f"{paper.slug}/{entry.name}")
    tasks = tuple(
        Task(
            **dict(entry),
            beside=beside,
            suite=suite,
            paper=paper,
            folder=folder,
            files=_files(entry, folder, f"task[{index}]", repository),
            siblings=_siblings(entry, checked),
        )
        for index, entry in enumerate(checked)
    )
    return (*(method_task(task) if task.tier == "method" else task for task in tasks), *twins(folder, tasks))


def load_repository(folder: Path) -> Mapping[str, bytes]:
    """Load the files of a paper's `repo/`, or those of its source. Files in `overlay/` replace those of the source.

    Raises:
        TaskError: `repo/` or `overlay/` is a link, both `repo/` and a source exist, or task.toml is malformed.
    """
    file = folder / "task.toml"
    source = read_table(file, folder.parent).get("source")
    for place in (folder / "repo", folder / "overlay"):
        if place.is_symlink():
            raise TaskError(f"{place} is a symbolic link; links are not followed in a suite")
    if source is None:
        return folder_files(folder / "repo")
    if (folder / "repo").exists():
        raise TaskError(f"{file}: source: the folder repo/ exists, too; remove the folder or this key")
    overlay = folder_files(folder / "overlay") if (folder / "overlay").is_dir() else {}
    return Tree(folder, validated(Source, source, file, "source"), overlay)


def equivalents_file(task: Task) -> Path:
    """Return the path of `equivalent/<task>.toml`, which lists correct mutants, each with the reason.

    A mutant is the reference with one small change, made by an audit.
    """
    return task.folder / "equivalent" / f"{task.name}.toml"


def decided_file(task: Task) -> Path:
    """Return the path of `decided/<task>.toml`.

    The file quotes sentences from the texts that a solver reads, each with the mutants that contradict it.
    """
    return task.folder / "decided" / f"{task.name}.toml"


def _entry(table: dict[str, Any], folder: Path, key: str, repository: Mapping[str, bytes]) -> TaskEntry:
    file = folder / "task.toml"
    table = dict(table)
    try:
        table["targets"] = [Target.parse(text) for text in table.get("targets", [])]
    except (TypeError, ValueError) as error:
        raise TaskError(f"{file}: {key}.targets: {error}") from error
    entry = validated(TaskEntry, table, file, key)
    if entry.tier not in ("function", "method"):
        raise TaskError(f"{file}: {key}.tier: {entry.tier!r} tasks are derived from other tasks; remove this entry")
    if entry.only_logs and entry.tier != "method":
        raise TaskError(f"{file}: {key}.only_logs: only method tasks have logged results; remove this entry")
    if isinstance(repository, Tree) and not is_fetched(repository.source):
        # Files and targets can be checked only after the source was fetched.
        return entry
    goal_files = [target.file for target in entry.targets]
    for name in (*goal_files, *entry.context):
        if name not in repository:
            where = "targets" if name in goal_files else "context"
            raise TaskError(f"{file}: {key}.{where}: there is no file repo/{name}")
    for target in entry.targets:
        try:
            find(repository[target.file], target.qualname)
        except TaskError as error:
            raise TaskError(f"{file}: {key}.targets: {target.file}: {error}") from error
    return entry


def _files(entry: TaskEntry, folder: Path, key: str, repository: Mapping[str, bytes]) -> TaskFiles:
    suite = folder.parent

    def text(name: str) -> str:
        return read_text_if_there(folder / name, suite) or ""

    for name in (*filter(None, [entry.check]), "paper.md"):
        if read_text_if_there(folder / name, suite) is None:
            raise TaskError(f"{folder / 'task.toml'}: {key}: there is no file {name}")
    if entry.tier == "method" and not entry.check:
        raise TaskError(f"{folder / 'task.toml'}: {key}.check is empty; tasks of the tier method need a check")
    of_source = repository.source.imports if isinstance(repository, Tree) else None
    rewrites = sorted((folder / "rewrites" / entry.name).glob("*.py"))
    return TaskFiles(
        repository=repository,
        imports=of_source if entry.imports is None else entry.imports,
        check=text(entry.check) if entry.check else "",
        summary=text("paper.md"),
        rewrites={file.stem: read_text(file, suite) for file in rewrites},
        wrong=wrong_versions(folder, entry.name),
        equivalents=text(f"equivalent/{entry.name}.toml"),
        deviations=text("deviations.toml"),
        decided=text(f"decided/{entry.name}.toml"),
        results=text(RESULTS) if entry.tier == "method" else "",
    )


def _siblings(entry: TaskEntry, entries: Iterable[TaskEntry]) -> tuple[Target, ...]:
    """Return the targets of the tier's other tasks that can be masked together with those of this task.

    A target inside another masked function is left out, because it disappears together with that function. A target
    that contains a target of this task is left out, because it cannot be masked.
    """
    others = dict.fromkeys(
        target
        for other in entries
        for target in other.targets
        if other.tier == entry.tier and target not in entry.targets
    )
    return tuple(
        target
        for target in others
        if not any(_holds(outer, target) for outer in (*entry.targets, *others))
        and not any(_holds(target, own) for own in entry.targets)
    )


def _holds(outer: Target, inner: Target) -> bool:
    return outer.file == inner.file and inner.qualname.startswith(f"{outer.qualname}.")
