"""Which packages besides the standard library does a task import?"""

from __future__ import annotations

import ast
import sys
from pathlib import PurePosixPath

from lmrbench.tasks.model import Task
from lmrbench.tasks.workspace import repository_files


def third_party_imports(task: Task) -> tuple[str, ...]:
    """The top-level imports of repository and check that neither Python nor the repository provides, sorted."""
    files = repository_files(task)
    own = {PurePosixPath(name).parts[0].removesuffix(".py") for name in files}
    sources = [data for name, data in files.items() if name.endswith(".py")]
    names: set[str] = set()
    for source in (*sources, task.check_file.read_bytes()):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.split(".")[0])
    return tuple(sorted(names - own - sys.stdlib_module_names))
