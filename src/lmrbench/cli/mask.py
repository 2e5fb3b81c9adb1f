"""`lmrbench mask`: what does a repository look like without some of its functions?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def mask(
    repository: Annotated[Path, typer.Argument(metavar="REPOSITORY", help="A folder with Python files.")],
    targets: Annotated[
        list[str], typer.Argument(metavar="TARGET...", help="Functions to mask: trainers.py::SimPOTrainer.simpo_loss.")
    ],
    closure: Annotated[
        bool, typer.Option("--closure", help="Mask the helpers too that nothing but the targets uses: a harder task.")
    ] = False,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="DIR", help="Write the masked repository to a new folder.")
    ] = None,
) -> None:
    """Mask functions of a repository: their bodies go, and every other byte stays.

    Without --to nothing is written: what would go is shown as a diff. The last line lists the targets as task.toml
    wants them.
    """
    import difflib
    import json

    from lmrbench.authoring.new import closure as closures
    from lmrbench.errors import TaskError
    from lmrbench.source import functions
    from lmrbench.tasks.model import Target
    from lmrbench.tasks.workspace import folder_files

    files = folder_files(repository)
    try:
        chosen = tuple(Target.parse(text) for text in targets)
    except ValueError as error:
        raise TaskError(str(error)) from error
    for target in chosen:
        if target.file not in files:
            raise TaskError(f"{target}: there is no file {repository / target.file}")
    if closure:
        chosen = closures.closure(files, chosen)
    masked = dict(files)
    for name in dict.fromkeys(target.file for target in chosen):
        try:
            masked[name] = functions.mask(files[name], [target.qualname for target in chosen if target.file == name])
        except TaskError as error:
            raise TaskError(f"{name}: {error}") from error
    if to is not None:
        if to.exists():
            raise TaskError(f"{to}: there is something there already")
        for name, data in masked.items():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            (to / name).write_bytes(data)
    else:
        for name in (name for name in masked if masked[name] != files[name]):
            before, after = (text.decode("utf-8", "replace").splitlines() for text in (files[name], masked[name]))
            print("\n".join(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm="")))
    print(f"targets = {json.dumps([str(target) for target in chosen])}")
