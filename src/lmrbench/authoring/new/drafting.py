"""Draft a task folder: choose the files to copy, and write drafts of the texts for the author to complete."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import tomli_w

from lmrbench.authoring.new.recording import Call
from lmrbench.errors import TaskError, UsageError
from lmrbench.tasks.files import pdf_pages
from lmrbench.tasks.model import Release, Target, Task
from lmrbench.tasks.sources.origin import Source, Tree
from lmrbench.tasks.sources.pin import licence_of
from lmrbench.tasks.workspace import folder_files, imported_from_elsewhere

MOST_BYTES = 1 << 20
_KEEP = """\
# List only the files that the target needs, and put stand-ins for the other modules that they import into overlay/.
# Without this list, all files are kept.
# keep = ["{file}"]

"""
_HEADING = re.compile(r"(?P<number>\d{1,2}(?:\.\d{1,2})*)\.?\s+(?P<title>[A-Z][^.]{2,70})$")
_LEFT_OUT = {".ipynb": "a notebook", ".pt": "weights", ".pth": "weights", ".bin": "weights", ".safetensors": "weights"}


def choose_files(files: Mapping[str, bytes]) -> tuple[dict[str, bytes], dict[str, str]]:
    """Choose the files of a repository that a task needs.

    Args:
        files: The contents of the repository's files, by path.

    Returns:
        The contents of the chosen files, by path, and the reason for leaving out each other file, by path.
    """
    kept: dict[str, bytes] = {}
    left_out: dict[str, str] = {}
    for name, data in files.items():
        if reason := why_left_out(name):
            left_out[name] = reason
        elif len(data) > MOST_BYTES:
            left_out[name] = f"{len(data) >> 20} MB of data"
        else:
            kept[name] = data
    return kept, left_out


def why_left_out(name: str) -> str:
    """Return the reason for leaving out a file of this name, or "" if it is not left out."""
    return _LEFT_OUT.get(Path(name).suffix, "")


def read_paper(file: Path) -> str:
    """Return the text of a paper, given as a PDF or a text file.

    Raises:
        TaskError: The file cannot be read.
    """
    try:
        return "\n".join(pdf_pages(file)) if file.suffix.lower() == ".pdf" else file.read_text("utf-8", "replace")
    except OSError as error:
        raise TaskError(f"{file}: {error}") from error


def outline(text: str) -> list[str]:
    """Return the numbered headings of a paper's text, up to its references.

    A line counts as a heading only if its number can follow that of the previous heading.
    """
    lines = [line.strip() for line in text.splitlines()]
    found: list[str] = []
    last: tuple[int, ...] = (0,)
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line.casefold() == "references":
            break
        # The number and the title may be on two lines.
        match = _HEADING.match(line) or _HEADING.match(f"{line} {following}")
        if match is None:
            continue
        number = tuple(int(part) for part in match["number"].split("."))
        if number in (_next_sibling(last, len(number)), (*last, 1)):
            found.append(f"{match['number']} {match['title']}")
            last = number
    return found


def _next_sibling(number: tuple[int, ...], depth: int) -> tuple[int, ...]:
    return (*number[: depth - 1], number[depth - 1] + 1) if depth <= len(number) else ()


def files_beside(places: Sequence[Path], repository: Mapping[str, bytes]) -> dict[str, bytes]:
    """Read additional files that a command needs while it runs in the repository, but that the task does not need.

    Args:
        places: The files and folders to read.
        repository: The contents of the repository's files, by path.

    Returns:
        The contents of the files, by path. The paths of files from a folder begin with the name of that folder.

    Raises:
        UsageError: A file or folder does not exist, or the repository already has a file with the same path.
    """
    found: dict[str, bytes] = {}
    for place in places:
        if place.is_dir():
            found |= {f"{place.name}/{name}": data for name, data in folder_files(place).items()}
        elif place.is_file():
            found[place.name] = place.read_bytes()
        else:
            raise UsageError(f"--with {place}: no such file or folder")
    if twice := sorted(found.keys() & repository.keys()):
        raise UsageError(f"--with: the repository already has a file {twice[0]}; rename yours")
    return found


def described(tree: Tree, calls: Sequence[Call]) -> Source:
    """Return the source of a fetched repository, with its licence and imports filled in.

    Args:
        tree: The fetched repository.
        calls: Recorded calls of the target. Each call lists the modules that had been imported by its end.
    """
    loaded = {name for call in calls for name in call.loaded}
    imports = tuple(sorted(imported_from_elsewhere(tree) & loaded))
    return tree.source.model_copy(update={"licence": licence_of(tree.source), "imports": imports})


def draft_table(
    slug: str, name: str, category: str, target: Target, source: Source | None, released: Release | None
) -> str:
    """Return the text of task.toml, with TODO in each place that the author must fill in.

    Args:
        slug: The name of the paper's folder.
        name: The name of the task.
        category: The category of the task.
        target: The function to mask.
        source: The source of the repository, if it is published code.
        released: The first package release that contains the target, if known.
    """
    fields = {} if source is None else source.model_dump(mode="json", exclude_defaults=True, exclude_none=True)
    table = tomli_w.dumps({"source": fields}) + _KEEP.format(file=target.file) if fields else ""
    release = "" if released is None else f"released = {{ {', '.join(_entries(released))} }}\n"
    return f'''[paper]
slug = "{slug}"
title = "TODO: the paper's title"
year = 2024
venue = "TODO"
url = "https://example.org/TODO"
# TODO: published = "2024-01-31", the date of the first version of the paper
{release}
{table}[[task]]
name = "{name}"
category = "{category}"
targets = [{json.dumps(str(target))}]
instruction = """
TODO: Implement `{target.qualname}` in `{target.file}`. State what it returns, and every constant and convention
that neither the summary nor the remaining code determines.
"""
check = "checks/{name}.py"
tolerance = {{ rtol = 1e-5, atol = 1e-6 }}
limits = {{ seconds = 60, memory_mb = 2048 }}
'''


def _entries(released: Release) -> list[str]:
    return [f"{key} = {json.dumps(value)}" for key, value in released.model_dump(mode="json").items()]


def draft_summary(text: str) -> str:
    """Return a draft of paper.md, with a section for each heading that is found in the paper's text."""
    headings = outline(text) if text else []
    sections = [f"## {heading}\n\nTODO" for heading in headings or ["Motivation", "Method", "Experiments"]]
    opening = (
        "# TODO: the paper's title\n\nTODO: a summary of 1,200 to 2,500 words in your own sentences; formulas in LaTeX."
    )
    return "\n\n".join([opening, *sections]) + "\n"


def left_to_do(task: Task) -> list[str]:
    """Return a message about the first TODO in task.toml, and one about the first TODO in paper.md."""
    found = []
    for name in ("task.toml", "paper.md"):
        lines = (task.folder / name).read_text("utf-8").splitlines()
        if marked := [number for number, line in enumerate(lines, 1) if re.search(r"\bTODO\b", line)]:
            found.append(f"{name}:{marked[0]}: marked TODO; fill it in")
    return found


def write_new(file: Path, content: str | bytes) -> bool:
    """Write a file unless it exists; return whether it was written."""
    if file.exists():
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return True
