"""Find and name run folders, choose the seeds for grading, and determine the source of answers for run.json."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from os.path import normpath
from pathlib import Path

from lmrbench.errors import UsageError
from lmrbench.grading.draw import fresh_seed, installation_seed
from lmrbench.runs.folder import (
    FACTS,
    GRADES,
    SUBMISSIONS,
    Run,
    drawn_seeds,
    other_answers,
    read_facts,
    read_run,
    source_in,
)
from lmrbench.tasks.submission import Answer, Submission

# The folder for new runs.
RUNS = Path("runs")


def run_folders(paths: Iterable[Path]) -> list[Path]:
    """Return the run folders at or below the given paths, without duplicates.

    If there is no run at or below a path, the path itself is returned. Raises UsageError for a path that is not a
    folder.
    """
    found: dict[tuple[int, int], Path] = {}
    for path in paths:
        if not path.is_dir():
            raise UsageError(f"{path}: there is no such run folder")
        for folder in _runs_below(path) or [path]:
            status = folder.stat()
            found.setdefault((status.st_dev, status.st_ino), folder)
    return list(found.values())


def read_runs(paths: Iterable[Path]) -> list[Run]:
    """Read the runs at or below the given paths; see `run_folders` and `read_run`."""
    return [read_run(folder) for folder in run_folders(paths)]


def _runs_below(folder: Path) -> list[Path]:
    if _is_run(folder):
        return [folder]
    below = sorted(item for item in folder.iterdir() if item.is_dir() and item.name[0] != ".")
    # A link to a run is followed; other links could lead back to a parent folder.
    return [run for item in below if _is_run(item) or not item.is_symlink() for run in _runs_below(item)]


def _is_run(folder: Path) -> bool:
    return (folder / FACTS).exists() or (folder / GRADES).exists()


def run_name(text: str) -> str:
    """Return a short folder name, safe in a shell, made from the name of a system or file."""
    return re.sub(r"[^\w.-]+", "-", text)[:60].strip("-.") or "run"


def folders_of_models(models: Sequence[str], setting: str) -> dict[str, str]:
    """Return the name of a run folder for each model.

    The name of a model's provider is left out unless two models would then have the same folder.
    """
    short = {model: run_name(f"{model.rpartition('/')[2]}-{setting}") for model in models}
    names = list(short.values())
    return {model: name if names.count(name) == 1 else run_name(f"{model}-{setting}") for model, name in short.items()}


def folder_of_model(model: str, models: Sequence[str], setting: str, system: str, out: Path | None) -> Path:
    """Return the run folder of a model.

    Args:
        model: The name of the model.
        models: The names of all models that the command runs.
        setting: How the models solve tasks, "prompt" or "agent"; part of the folder's name unless `system` is given.
        system: The system's name in records, which is also used as the folder's name. If it is "", the folder is named
            after the model.
        out: With one model, its run folder; None for a folder in `RUNS`. With several models, the parent of their run
            folders; None for `RUNS`.
    """
    if len(models) == 1 and out is not None:
        return out
    name = run_name(system) if system else folders_of_models(models, setting)[model]
    return (out or RUNS) / name


def seeds_of(folder: Path, seed: int | None, fresh: int | None) -> tuple[int, ...]:
    """Return the seeds to grade a run folder with.

    Args:
        folder: The run folder.
        seed: The seed that the user chose, or None.
        fresh: The number of fresh seeds to draw, or None. If exactly this number was drawn for the folder earlier,
            those seeds are reused. If both `seed` and `fresh` are None, the installation's own seed is used.
    """
    if fresh is None:
        return (installation_seed() if seed is None else seed,)
    earlier = drawn_seeds(folder)
    return earlier if len(earlier) == fresh else tuple(fresh_seed() for _ in range(fresh))


def source_of(
    folder: Path, path: Path, submissions: Sequence[Submission], merge: bool
) -> tuple[str | None, list[Answer]]:
    """Return the source to record in run.json, and the answers in the folder that are not among the submissions.

    The source is None if the one in run.json must not change: if `path` is the run folder itself, or if the run folder
    contains other answers.

    Args:
        folder: The run folder to grade into.
        path: The file or run folder that the submissions come from.
        submissions: All submissions of `path`.
        merge: Whether the folder may contain answers that are not in `submissions`.

    Raises:
        RecordError: The folder contains answers that are not in `submissions` and `merge` is false, or, for one of the
            submissions, it already contains different code that came from another source.
    """
    if folder.resolve() == path.resolve():
        return None, []
    file = path / SUBMISSIONS if path.is_dir() else path
    others = other_answers(folder, file, submissions, merge)
    return None if others else source_in(folder, file), others


def require_built_in(folder: Path) -> None:
    """Raise UsageError if a run folder contains answers that were read from a file."""
    facts = read_facts(folder)
    if facts is not None and facts.source:
        raise UsageError(
            f"{folder} contains answers from {normpath(folder / facts.source)}; choose another folder with --out"
        )
