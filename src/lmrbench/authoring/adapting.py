"""Can a check of the suite `core` observe the same function in somebody else's repository?

Only where it calls a function of a module with plain tensors and asks nothing else of our repository, which a person
has to say: `OBSERVED`. Even then the function must take the same parameters, and need no other packages. The adapted
check runs the cases of ours but the experiment, which needs our repository, on a module that
`lmrbench.authoring.inside.adapter` makes of theirs.
"""

from __future__ import annotations

import ast
import copy
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from urllib.parse import urlsplit

from lmrbench.authoring.inside.adapter import statements_for
from lmrbench.errors import TaskError
from lmrbench.pysource.functions import find
from lmrbench.pysource.source import FunctionNode, decode
from lmrbench.tasks.model import Paper, Target, Task

# By task: the packages that target and check may import. Each of these checks calls its target with tensors and
# options by their documented names, and observes losses, rewards, gradients and inputs alone.
OBSERVED: Mapping[str, tuple[str, ...]] = {"dpo/preference_loss": ("torch",), "tdpo/tdpo_loss": ("torch",)}

EXPERIMENT = "experiment"
_ADAPTER = """

_cases_of_core, _observe_of_core = cases, observe


def cases(seed):
    return [case for case in _cases_of_core(seed) if case.get("name") != {experiment!r}]


def observe(case):
    stand_in({module!r}, {file!r}, {name!r})
    return _observe_of_core(case)
"""


@dataclass(frozen=True)
class Adapted:
    """A check for another repository. of: the task whose check it was. imports: the packages that it needs."""

    of: Task
    text: str
    imports: tuple[str, ...]


def adapted(paper: Paper, target: Target, repository: Mapping[str, bytes], core: Iterable[Task]) -> Adapted:
    """The check of the task of `core` that has this function of this paper for its target.

    repository: theirs, by path, with the function in place. Raises TaskError, with the reason, where there is none.
    """
    name = target.qualname.rpartition(".")[2]
    same_paper = [task for task in core if task.tier == "function" and _is_same(task.paper, paper)]
    found = [task for task in same_paper if name in {own.qualname.rpartition(".")[2] for own in task.targets}]
    if not found:
        what = "this function of it" if same_paper else "this paper"
        raise TaskError(f"the suite core has no task of {what}")
    ours = found[0]
    if ours.id not in OBSERVED:
        raise TaskError(f"the check of {ours.id} needs the repository that it was written for")
    (own,) = ours.targets
    signatures = [
        _signature(find(files[place.file], place.qualname).node)
        for files, place in ((ours.files.repository, own), (repository, target))
    ]
    if "." in target.qualname or signatures[0] != signatures[1]:
        raise TaskError(f"the check of {ours.id} calls {name}({signatures[0]}); here it is {target}({signatures[1]})")
    allowed = OBSERVED[ours.id]
    try:
        needed = _imports(repository[target.file], name)
    except (SyntaxError, RecursionError) as error:
        raise TaskError(f"{target.file}: can't be taken apart: {error}") from error
    if others := sorted(needed - {*allowed, *sys.stdlib_module_names}):
        raise TaskError(f"the check of {ours.id} can't observe a function that needs {', '.join(others)}")
    module = own.file.removesuffix(".py").replace("/", ".")
    adapter = (resources.files("lmrbench.authoring") / "inside" / "adapter.py").read_text("utf-8")
    ending = _ADAPTER.format(experiment=EXPERIMENT, module=module, file=target.file, name=name)
    return Adapted(ours, f"{adapter}\n\n{ours.files.check}{ending}", allowed)


def _is_same(ours: Paper, theirs: Paper) -> bool:
    return _words(ours.title) == _words(theirs.title) or _address(str(ours.url)) == _address(str(theirs.url))


def _words(title: str) -> str:
    return re.sub(r"\W+", " ", title.casefold()).strip()


def _address(url: str) -> str:
    """Host and path; of arXiv the number of the paper, whatever its form and version."""
    parts = urlsplit(url.casefold())
    if (parts.hostname or "").endswith("arxiv.org") and (number := re.search(r"\d{4}\.\d{4,5}", parts.path)):
        return f"arxiv {number.group()}"
    return f"{(parts.hostname or '').removeprefix('www.')}{parts.path.removesuffix('.pdf').rstrip('/')}"


def _signature(node: FunctionNode) -> str:
    """The parameters with their kinds and defaults, without annotations."""
    bare = copy.deepcopy(node.args)
    for part in ast.walk(bare):
        if isinstance(part, ast.arg):
            part.annotation = None
    return ast.unparse(bare)


def _imports(data: bytes, name: str) -> set[str]:
    """The top-level imports of a function and of what it needs of its file; a relative one is "."."""
    found: set[str] = set()
    for statement in statements_for(ast.parse(decode(data)[0]), name):
        for node in ast.walk(statement):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add((node.module or "").partition(".")[0] if not node.level else ".")
    return found
