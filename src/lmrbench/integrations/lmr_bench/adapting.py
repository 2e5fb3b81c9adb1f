"""Build checks for functions of the public edition of LMR-BENCH.

A check draws cases (inputs) for a function and observes its results. The edition has no inputs for its functions, and
the checks of lmrbench's own suite `core` cover more than the edition's instructions ask for. `public_checks/` therefore
has a separate check for each function that can be observed with plain tensors and numbers. These checks have no edge
cases and do not use parameters that the instruction says to ignore. A check applies to a function of the same paper and
name if the function takes the check's arguments in the same order, reads only attributes of `self` that the check sets,
and needs no packages other than those in `PACKAGES`. The module `lmrbench.integrations.lmr_bench.inside.adapter`, which
is prepended to the check, extracts the function from its file. The constant `TARGET`, which is appended, names the
function.

A check in `public_checks/` may define these constants:

- `PARAMETERS`: the parameters of the function to which the check passes arguments, in order;
- `CONSTRUCTOR`: the parameters of the class's `__init__` to which it passes arguments;
- `ATTRIBUTES`: the attributes of `self` that it sets;
- `OPTIONS`: the optional parameters and attributes that it uses only in cases whose key `uses` names them. Such a case
  is omitted if the edition's instruction does not ask for them.
"""

from __future__ import annotations

import ast
import copy
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from lmrbench.errors import TaskError
from lmrbench.integrations.lmr_bench.inside.adapter import reads_of_self, statements_for
from lmrbench.source.functions import find
from lmrbench.source.syntax import FunctionNode, decode
from lmrbench.tasks.model import Paper, Target, Task

# The packages that a function may import in addition to the standard library and the modules of its repository.
PACKAGES = ("numpy", "pandas", "scipy", "torch")
_ENDING = """

TARGET = {target!r}
ASKED = {asked!r}


def cases(seed):
    return [case for case in every_case(seed) if {{*case.get("uses", ())}} <= {{*ASKED}}]
"""
_WAIVES = re.compile(r"\b(ignor|disregard)", re.IGNORECASE)
# Attributes that every torch.nn.Module has.
_OF_MODULES = frozenset({"training"})


@dataclass(frozen=True)
class Adapted:
    """A check for a task of the edition.

    Attributes:
        of: The task of the suite `core` with the same function.
        text: The source code of the check.
        imports: The packages that the check and the function import.
    """

    of: Task
    text: str
    imports: tuple[str, ...]


def same_paper(paper: Paper, core: Iterable[Task]) -> list[Task]:
    """Return the tasks of `core` in the tier `function` whose paper has the same title or URL."""
    return [task for task in core if task.tier == "function" and _is_same(task.paper, paper)]


def same_function(name: str, tasks: Sequence[Task]) -> Task | None:
    """Find the task of `core` for a function of the edition.

    Args:
        name: The name of the function.
        tasks: The tasks of its paper in `core`.

    Returns:
        The task with a target of this name, else the paper's only task, else None.
    """
    named = [task for task in tasks if name in {own.qualname.rpartition(".")[2] for own in task.targets}]
    return named[0] if named else tasks[0] if len(tasks) == 1 else None


def adapted_check(
    paper: Paper, target: Target, instruction: str, repository: Mapping[str, bytes], core: Iterable[Task]
) -> Adapted:
    """Build the check for a function of the edition.

    Args:
        paper: The paper as the edition describes it.
        target: The function in the edition's repository.
        instruction: The edition's instruction for the function. Cases that use an option are omitted if the instruction
            does not name the option or says to ignore it.
        repository: The contents of the repository's files, by path, with the golden (the reference implementation) of
            the function inserted.
        core: The tasks of the suite `core`.

    Returns:
        The check.

    Raises:
        TaskError: No check can observe the function. The message gives the reason.
    """
    name = target.qualname.rpartition(".")[2]
    tasks = same_paper(paper, core)
    ours = same_function(name, tasks)
    if ours is None:
        raise TaskError(f"the suite core has no task for this {'function' if tasks else 'paper'}")
    folder = resources.files("lmrbench.integrations.lmr_bench")
    file = folder / "public_checks" / f"{ours.id.replace('/', '_')}.py"
    if not file.is_file():
        raise TaskError(f"the check of {ours.id} works only with the repository of that task")
    if target.qualname not in (names := [own.qualname for own in ours.targets]):
        raise TaskError(f"the check of {ours.id} observes {' and '.join(names)}, not {target.qualname}")
    check = file.read_text("utf-8")
    settings = _settings(check)
    node = find(repository[target.file], target.qualname).node
    if not _takes(node, settings["PARAMETERS"], is_method="." in target.qualname):
        called = f"{name}({', '.join(settings['PARAMETERS'])})"
        raise TaskError(
            f"the check of {ours.id} calls {called}; the edition's function is {target}({_signature(node)})"
        )
    try:
        tree = ast.parse(decode(repository[target.file])[0])
        constructor = settings.get("CONSTRUCTOR", ())
        statements = statements_for(tree, target.qualname, PACKAGES, ("__init__",) if constructor else ())
        needed = {*_needed(statements, target.file, repository)}
    except (SyntaxError, RecursionError) as error:
        raise TaskError(f"{target.file} can't be parsed: {error}") from error
    if others := needed - {*PACKAGES, *sys.stdlib_module_names}:
        raise TaskError(f"the check of {ours.id} can't observe a function that needs {', '.join(sorted(others))}")
    owner = target.qualname.rpartition(".")[0]
    given = {*settings.get("ATTRIBUTES", ()), *_OF_MODULES}
    unknown = [read for read in reads_of_self(statements, owner) if not {read, read.partition(".")[0]} & given]
    if owner and unknown:
        raise TaskError(
            f"the check of {ours.id} does not set {', '.join(f'self.{read}' for read in unknown)}, "
            "which the function reads"
        )
    if lacking := {*constructor} - {argument.arg for argument in _arguments_of_init(statements, owner)}:
        raise TaskError(
            f"the check of {ours.id} calls {owner} with parameters that it does not have: {', '.join(sorted(lacking))}"
        )
    asked = _asked(settings.get("OPTIONS", ()), instruction, statements)
    ending = _ENDING.format(target=(target.file, target.qualname, PACKAGES), asked=asked)
    needed |= {name.partition(".")[0] for name, _ in _modules(ast.parse(check).body)}
    return Adapted(ours, f"{_adapter()}\n\n{check}{ending}", tuple(sorted(needed & {*PACKAGES})))


def _adapter() -> str:
    """Return the source code of the adapter, with the module that it imports inlined."""
    package = resources.files("lmrbench")
    reached = (package / "source" / "reached.py").read_text("utf-8")
    adapter = (package / "integrations" / "lmr_bench" / "inside" / "adapter.py").read_text("utf-8")
    return f"{reached}\n\n{re.sub('^from lmrbench.*$', '', adapter, flags=re.MULTILINE)}"


def _settings(check: str) -> dict[str, Any]:
    """Return the upper-case constants of a check."""
    return {
        part.targets[0].id: ast.literal_eval(part.value)
        for part in ast.parse(check).body
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name) and part.targets[0].id.isupper()
    }


def _asked(options: Iterable[str], instruction: str, golden: Iterable[ast.stmt]) -> tuple[str, ...]:
    """Return the options that occur in the golden and that the instruction names without saying to ignore them.

    If a sentence contains "ignore" or "disregard", the options that it names are to be ignored, including those in a
    list below it.
    """
    sentences = re.split(r"(?<=[.;!?])\s|\n\s*\n", instruction)
    waived = {word for text in sentences if _WAIVES.search(text) for word in re.findall(r"\w+", text)}
    nodes = [node for statement in golden for node in ast.walk(statement)]
    known = {node.arg for node in nodes if isinstance(node, ast.arg)}
    known |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return tuple(name for name in options if name in {*re.findall(r"\w+", instruction)} - waived and name in known)


def _is_same(ours: Paper, theirs: Paper) -> bool:
    return _words(ours.title) == _words(theirs.title) or _address(str(ours.url)) == _address(str(theirs.url))


def _words(title: str) -> str:
    return re.sub(r"\W+", " ", title.casefold()).strip()


def _address(url: str) -> str:
    """Reduce a URL to its host and path for comparison, or an arXiv URL to the number of the paper."""
    parts = urlsplit(url.casefold())
    if (parts.hostname or "").endswith("arxiv.org") and (number := re.search(r"\d{4}\.\d{4,5}", parts.path)):
        return f"arxiv {number.group()}"
    return f"{(parts.hostname or '').removeprefix('www.')}{parts.path.rstrip('/').removesuffix('.pdf')}"


def _takes(node: FunctionNode, names: Sequence[str], is_method: bool) -> bool:
    """Return whether a function takes positional arguments with these names. A single name is not compared."""
    arguments = node.args
    own = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)][int(is_method) :]
    required = len(own) - len(arguments.defaults)
    keywords = [item for item in arguments.kw_defaults if item is None]
    named_alike = len(names) == 1 or own[: len(names)] == list(names)
    return named_alike and required <= len(names) <= len(own) and not keywords


def _arguments_of_init(statements: Iterable[ast.stmt], owner: str) -> list[ast.arg]:
    kinds = [part for part in statements if isinstance(part, ast.ClassDef) and part.name == owner]
    methods = [part for kind in kinds for part in kind.body if isinstance(part, FunctionNode)]
    return [item for part in methods if part.name == "__init__" for item in (*part.args.args, *part.args.kwonlyargs)]


def _signature(node: FunctionNode) -> str:
    """Return the parameters of a function with their kinds and defaults, without annotations."""
    bare = copy.deepcopy(node.args)
    for part in ast.walk(bare):
        if isinstance(part, ast.arg):
            part.annotation = None
    return ast.unparse(bare)


def _needed(statements: Iterable[ast.stmt], file: str, repository: Mapping[str, bytes]) -> Iterator[str]:
    """Yield the top-level packages that statements import, directly or through modules of the repository.

    A relative import of a module that does not exist yields ".".
    """
    seen = {file}
    pending = [(file, list(statements))]
    while pending:
        place, body = pending.pop()
        for module, level in _modules(body):
            found = _files_of(module, level, place, repository)
            if not found:
                yield "." if level else module.partition(".")[0]
            for path in found:
                if path not in seen:
                    seen.add(path)
                    pending.append((path, ast.parse(decode(repository[path])[0]).body))


def _modules(body: Iterable[ast.stmt]) -> Iterator[tuple[str, int]]:
    """Yield the modules that statements import, each with the level of a relative import."""
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Import):
                yield from ((alias.name, 0) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield node.module or "", node.level


def _files_of(module: str, level: int, file: str, repository: Mapping[str, bytes]) -> list[str]:
    """Return the files that run when a file imports a module of its repository: the module and its parent packages."""
    above = PurePosixPath(file).parts[:-level] if level else ()
    parts = (*above, *module.split(".")) if module else above
    own = [path for path in ("/".join(parts) + ".py", "/".join((*parts, "__init__.py"))) if path in repository]
    around = ["/".join((*parts[:end], "__init__.py")) for end in range(1, len(parts))]
    return [*own, *(path for path in around if path in repository)] if own else []
