"""What came back from a solver: a response, an edited workspace, a diff. Which Python text holds the targets?

Everything ends as a `Submission`; `candidate_files` then transplants it into a fresh mask. What a solver changed
outside of the goal files is a warning, and never read further than to see that it differs. Whatever can't be used is
a `SubmissionError`, the candidate's fault.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchedFile, PatchSet

from lmrbench.errors import SubmissionError
from lmrbench.tasks.model import Target, Task
from lmrbench.tasks.source import functions_named
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.text import Source, decode, describe
from lmrbench.tasks.transplant import transplant
from lmrbench.tasks.workspace import REPO, is_litter, masked_files, unsolved_files, workspace_files

MAX_FILE_BYTES = 1 << 20
MAX_WARNINGS = 50

_FENCE = re.compile(r"^[ \t]*(?P<mark>`{3,}|~{3,})[^\n]*\n(?P<code>.*?)(?:^[ \t]*(?P=mark)[ \t]*$|\Z)", re.M | re.S)
_OPENING = re.compile(r"^[ \t]*(?:@|async def |def |class |import |from \S+ import )", re.M)


def candidate_files(task: Task, submission: Submission) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """The whole repository with the submission's targets in place, and what of the submission was left out."""
    code = submission.code
    if isinstance(code, str):
        if len(task.goal_files) != 1:
            raise SubmissionError(f"{task.id}: has {len(task.goal_files)} goal files; code must be an object by file")
        code = {task.goal_files[0]: code}
    files, shown = unsolved_files(task), masked_files(task)
    warnings = [f"{name}: is no goal file; left out" for name in code if name not in task.goal_files]
    for file in task.goal_files:
        if file not in code:
            raise SubmissionError(f"{task.id}: nothing was handed in for {file}")
        targets = [target for target in task.targets if target.file == file]
        text = from_response(code[file], targets)
        result = transplant(files[file], text, targets)
        # What was changed is told from what was shown, in which the paper's other targets are masked too.
        seen = result if shown[file] == files[file] else transplant(shown[file], text, targets)
        files[file] = result.data
        warnings += seen.warnings
    return files, tuple(warnings)


def from_response(text: str, targets: list[Target]) -> str:
    """The Python text of a response that defines all targets; a file comes back as it is.

    Looked for in this order: the text itself, its fenced blocks (all together, then each alone, the last first), and
    the text from its first line of code on; each also with its indentation mended and, for a method printed bare,
    inside its class. One that defines a target twice will not do. If none will do, the likeliest comes back for
    `transplant` to say what is wrong with it.
    """
    blocks = [match["code"] for match in _FENCE.finditer(text)]
    tries = [text, "\n".join(map(textwrap.dedent, blocks)), *reversed(blocks), *_from_first_code(text)]
    for attempt in tries:
        for shaped in _shapes(attempt):
            if (usable := _usable(shaped, targets)) is not None:
                return usable
    likely = [block for block in blocks if any(target.qualname.split(".")[-1] in block for target in targets)]
    return textwrap.dedent(likely[-1] if likely else text)


def from_workspace(task: Task, folder: Path, system: str, sample: int = 0) -> Submission:
    """What an edited workspace holds; `folder` is what `workspace.build` wrote, with any inputs."""
    given = workspace_files(task, "full")
    warnings = list(_changes(folder, given, {f"{REPO}/{file}" for file in task.goal_files}))
    code = {}
    for file in task.goal_files:
        path = folder / REPO / file
        if not path.is_file() and (folder / "answer.py").is_file():
            path = folder / "answer.py"
        code[file] = read_text(path)
    if len(warnings) > MAX_WARNINGS:
        warnings = [*warnings[:MAX_WARNINGS], f"and {len(warnings) - MAX_WARNINGS} more changes"]
    return Submission(system=system, task=task.id, sample=sample, code=code, warnings=tuple(warnings))


def from_diff(task: Task, text: str, system: str, sample: int = 0) -> Submission:
    """What a unified diff against the workspace or the masked repository makes of the goal files."""
    masked = masked_files(task)
    try:
        patches = PatchSet(text)
    except UnidiffParseError as error:
        raise SubmissionError(f"the diff can't be parsed: {error}") from error
    code = {file: decode(masked[file])[0] for file in task.goal_files}
    warnings = []
    for patch in patches:
        name = patch.path.removeprefix(f"{REPO}/")
        if name in code:
            code[name] = _patched(code[name], patch, name)
        else:
            warnings.append(f"{patch.path}: changed, but is no goal file; left out")
    return Submission(system=system, task=task.id, sample=sample, code=code, warnings=tuple(warnings[:MAX_WARNINGS]))


def read_text(path: Path) -> str:
    """The text of a file that a solver wrote: a regular file of at most 1 MiB, decoded by PEP 263."""
    if path.is_symlink() or not path.is_file():
        raise SubmissionError(f"{path}: there is no such file")
    if path.stat().st_size > MAX_FILE_BYTES:
        raise SubmissionError(f"{path}: larger than {MAX_FILE_BYTES >> 20} MiB")
    try:
        return decode(path.read_bytes())[0]
    except SyntaxError as error:
        raise SubmissionError(f"{path}: {describe(error)}") from error


def _from_first_code(text: str) -> Iterator[str]:
    for match in _OPENING.finditer(text):
        lines = text[match.start() :].splitlines()
        for end in range(len(lines), 0, -1):
            # Prose after the code starts at the margin and is no Python.
            attempt = textwrap.dedent("\n".join(lines[:end]))
            if _parses(attempt):
                yield attempt
                break
        else:
            continue
        return


def _shapes(text: str) -> Iterator[str]:
    yield text
    yield textwrap.dedent(text)
    lines = text.strip("\n").splitlines()
    if lines and not lines[0][:1].isspace():
        # The first line was stripped, the rest kept the indentation that it had in its class.
        yield textwrap.dedent("    " + "\n".join(lines))


def _usable(text: str, targets: list[Target]) -> str | None:
    if not _parses(text):
        return None
    source = Source.parse(text)
    if all(len(functions_named(source, target.qualname)) == 1 for target in targets):
        return text
    classes = {target.qualname.rpartition(".")[0] for target in targets}
    bare = [target.qualname.rpartition(".")[2] for target in targets]
    if len(classes) != 1 or any(len(functions_named(source, name)) != 1 for name in bare):
        return None
    return _inside_classes(source, text, classes.pop(), set(bare))


def _inside_classes(source: Source, text: str, owner: str, names: set[str]) -> str | None:
    """The text with the functions of these names moved into the class that they belong to, at its end."""
    if not owner:
        return None
    lines = text.splitlines()
    moved, kept = [], list(lines)
    for node in source.tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name in names:
            start = min([node.lineno, *(item.lineno for item in node.decorator_list)]) - 1
            moved += lines[start : node.end_lineno]
            kept[start : node.end_lineno] = [""] * ((node.end_lineno or 0) - start)
    wrapped = "\n".join(moved)
    for name in reversed(owner.split(".")):
        wrapped = f"class {name}:\n{textwrap.indent(wrapped, '    ')}"
    result = "\n".join(kept).rstrip() + f"\n\n\n{wrapped}\n"
    return result if _parses(result) else None


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _changes(folder: Path, given: dict[str, bytes], goals: set[str]) -> Iterator[str]:
    seen = set()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            yield f"{name}: a link; not followed"
        elif path.is_file() and not is_litter(PurePosixPath(name)):
            seen.add(name)
            if name not in given and name != "answer.py":
                yield f"{name}: added; left out"
            elif name not in goals and name != "instruction.md" and not _same(path, given[name]):
                yield f"{name}: changed; left out"
    if any(name.startswith(f"{REPO}/") and name not in goals for name in seen):
        yield from (f"{name}: removed; left out" for name in sorted(given.keys() - seen - goals))


def _same(path: Path, data: bytes) -> bool:
    return path.stat().st_size == len(data) and path.read_bytes() == data


def _patched(text: str, patch: PatchedFile, name: str) -> str:
    lines = text.splitlines(keepends=True)
    result: list[str] = []
    done = 0
    for hunk in patch:
        start = max(hunk.source_start - 1, 0)
        old = [line.value.rstrip("\r\n") for line in hunk if line.is_context or line.is_removed]
        if start < done or [line.rstrip("\r\n") for line in lines[start : start + len(old)]] != old:
            raise SubmissionError(f"{name}: the hunk at line {hunk.source_start} does not apply")
        result += lines[done:start]
        result += [line.value for line in hunk if line.is_context or line.is_added]
        done = start + len(old)
    return "".join(result + lines[done:])
