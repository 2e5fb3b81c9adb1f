"""`lmrbench images`: the images that `--sandbox docker` grades in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmrbench.cli.options import PATTERN_HELP, JsonOption, SuiteOption, load_tasks, print_json
from lmrbench.cli.terminal import console, say
from lmrbench.report.render.tables import sheet, show

app = typer.Typer(no_args_is_help=True, help="Build, list and remove the images that --sandbox docker grades in.")


@app.command()
def build(
    patterns: Annotated[list[str] | None, typer.Argument(metavar="[TASK]...", help=PATTERN_HELP)] = None,
    base: Annotated[
        str | None,
        typer.Option(
            metavar="IMAGE",
            help="The image that they are made from: any with this version of Python. By default LMRBENCH_BASE_IMAGE, "
            "that of the newest image here, or the public one.",
        ),
    ] = None,
    suite: SuiteOption = None,
) -> None:
    """Build the images that tasks need and that are absent: one for each set of packages that tasks import.

    Packages are copied from this installation, and from the environments of `lmrbench env build`. Grading builds what
    is absent, too; this does it beforehand, from a base image of your own where Docker Hub can't be reached.
    """
    from lmrbench.sandbox.backends.images import connect, image_for

    client = connect()
    for imports, environment in _needed(suite, patterns):
        say(image_for(client, imports, environment, base, say))


@app.command("list")
def list_(json: JsonOption = False) -> None:
    """List the images that are here: when each was built, its size and its packages. Images share layers."""
    from dataclasses import asdict

    from lmrbench.sandbox.backends.images import connect, images

    found = images(connect())
    if json:
        print_json([{**asdict(item), "created": item.created.isoformat()} for item in found])
        return
    rows = [
        (item.tag, f"{item.created:%Y-%m-%d %H:%M}", f"{item.size / 1e6:.0f} MB", item.base, ", ".join(item.packages))
        for item in found
    ]
    show(sheet(f"{len(found)} images", ("image", "built (UTC)", "size", "base", "packages"), rows), console())


@app.command()
def prune(suite: SuiteOption = None) -> None:
    """Remove the images that no task of a suite needs as lmrbench and its packages are now."""
    from lmrbench.sandbox.backends.images import connect, images, remove, tag_of

    client = connect()
    kept = {tag_of(client, imports, environment) for imports, environment in _needed(suite, None)}
    for item in images(client):
        if item.tag not in kept:
            remove(client, item.tag)
            say(f"removed {item.tag}")


def _needed(suite: Path | None, patterns: list[str] | None) -> list[tuple[tuple[str, ...], Path | None]]:
    """The packages that tasks import, and the environments that these come from, each pair once."""
    from lmrbench.sandbox.packages import with_worker_needs
    from lmrbench.sandbox.venvs import environment_of
    from lmrbench.tasks.workspace import third_party_imports

    tasks = load_tasks(suite, patterns)
    pairs = [(with_worker_needs(third_party_imports(task)), environment_of(task.paper.requirements)) for task in tasks]
    return list(dict.fromkeys(pairs))
