"""`lmrbench view`: look at runs in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmrbench.cli.options import RUNS, RUNS_HELP, LabelFilesOption, SuiteOption, run_folders
from lmrbench.cli.terminal import say
from lmrbench.tasks.loading import suite_folder
from lmrbench.text import counted


def view(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="[RUN]...", help=f"{RUNS_HELP} By default runs/.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Where the server listens. Whoever reaches it sees everything, so keep it on loopback.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Which port; 0 for any that is free.")] = 7575,
    show_reference: Annotated[
        bool, typer.Option("--show-reference", help="Show the reference beside answers, and not the masked function.")
    ] = False,
    labels: LabelFilesOption = None,
    suite: SuiteOption = None,
) -> None:
    """Look at runs in a browser: tasks by systems, and for each answer its code, failed cases, votes and costs.

    Pages are made on this machine and load nothing from elsewhere. A run that is still going is followed. Ctrl-C ends
    the server.
    """
    from lmrbench.errors import UsageError
    from lmrbench.runs.index import RunIndex
    from lmrbench.tasks.loading import load_suite
    from lmrbench.web.app import Viewer, application
    from lmrbench.web.serving import listening, serve

    folders = run_folders(runs or [RUNS])
    if unread := [file for file in labels or () if not file.is_file()]:
        raise UsageError(f"{unread[0]}: there is no such file of labels")
    tasks = {task.id: task for task in load_suite(suite_folder(suite))}
    viewer = Viewer([RunIndex(folder, labels or ()) for folder in folders], tasks, show_reference)
    with listening(host, port) as server:
        say(f"{server.address} shows {counted(len(folders), 'run')}; Ctrl-C ends it")
        try:
            serve(application(viewer, server.names), server)
        finally:
            viewer.transcripts.close()
