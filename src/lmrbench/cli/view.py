"""`lmrbench view`: look at runs in a browser."""

from __future__ import annotations

import os
import socket
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

import typer

from lmrbench.cli.options import SuiteOption
from lmrbench.cli.terminal import say
from lmrbench.tasks.loading import suite_folder

RUNS = Path("runs")


def view(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="[RUN]...", help="Run folders; all below runs/ without one.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Where the server listens. Whoever reaches it sees everything, so keep it on loopback.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Which port; 0 for any that is free.")] = 7575,
    show_reference: Annotated[
        bool, typer.Option("--show-reference", help="Show the reference beside answers, and not the masked function.")
    ] = False,
    suite: SuiteOption = None,
) -> None:
    """Look at runs in a browser: tasks by systems, and for each answer its code, failed cases, votes and costs.

    Pages are made on this machine and load nothing from elsewhere. A run that is still going is followed. Ctrl-C ends
    the server.
    """
    from lmrbench.errors import UsageError

    try:
        import uvicorn

        from lmrbench.web.app import Viewer, application
    except ModuleNotFoundError as error:
        raise UsageError(f"view needs {error.name}: pip install 'lmrbench[web]'") from error
    from lmrbench.tasks.loading import load_suite
    from lmrbench.web.index import RunIndex

    folders = runs or sorted(path.parent for path in RUNS.glob("*/run.json"))
    if missing := [folder for folder in folders if not folder.is_dir()]:
        raise UsageError(f"{missing[0]}: there is no such run folder")
    tasks = {task.id: task for task in load_suite(suite_folder(suite))}
    viewer = Viewer([RunIndex(folder) for folder in folders], tasks, show_reference)
    try:
        listening = socket.create_server((host, port))
    except OSError as error:
        raise UsageError(f"{host}:{port}: {os.strerror(error.errno or 0)}; name another with --port") from error
    with listening:
        address = f"{host}:{listening.getsockname()[1]}"
        say(f"http://{address} shows {len(folders)} runs; Ctrl-C ends it")
        # On loopback, another site whose name leads here must not be answered.
        names = ["localhost", "127.0.0.1"] if ip_address(listening.getsockname()[0]).is_loopback else ["*"]
        uvicorn.Server(uvicorn.Config(application(viewer, names), log_level="error")).run([listening])
