"""`lmrbench familiarity`: has a model seen the files that it is asked to complete?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmrbench.cli.options import (
    RUNS_HELP,
    JsonOption,
    SuiteOption,
    TasksOption,
    load_tasks,
    print_json,
    run_folders,
)
from lmrbench.cli.terminal import console, progress, say
from lmrbench.report.render.tables import sheet, show
from lmrbench.text import counted


def familiarity(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A folder or a name on the hub; with --server, a name there.")
    ],
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="[RUN]...", help=f"{RUNS_HELP} They are correlated with success.")
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Ask a server that returns log-probabilities of prompts, as vLLM does."),
    ] = None,
    task: TasksOption = None,
    window: Annotated[int, typer.Option(min=2, help="Tokens that a local model sees at once.")] = 2048,
    batch: Annotated[int, typer.Option(min=1, help="Windows that a local model reads at once.")] = 4,
    device: Annotated[str, typer.Option(help="Where a local model runs: cpu, cuda, cuda:1, mps.")] = "cpu",
    suite: SuiteOption = None,
    json: JsonOption = False,
) -> None:
    """Measure how probable a model finds the tokens of each goal file, and of a renamed and reformatted copy.

    The level alone says little: code that everybody writes alike is probable too. A file that is much more probable
    than its copy, by the standard of the other files, may have been seen in training. A run folder adds the
    rank correlation of that difference with success.
    """
    from lmrbench.report.familiarity import correlations, familiarities
    from lmrbench.report.token_probabilities import of_local_model, of_server
    from lmrbench.runs.folder import read_run

    tasks = load_tasks(suite, task)
    grades = [item for folder in run_folders(runs or ()) for item in read_run(folder).grades]
    probabilities = of_server(server, model) if server else of_local_model(model, window, batch, device)
    found = []
    with progress() as bar:
        under_way = bar.add_task("goal files", total=len(tasks))
        for item in tasks:
            found += familiarities(item, probabilities)
            bar.advance(under_way)
    related = correlations(found, grades)
    if json:
        print_json(
            {
                "model": model,
                "files": [{**item.model_dump(), "difference": item.difference} for item in found],
                "correlations": [item.model_dump() for item in related],
            }
        )
        return
    rows = [
        [item.task, item.file, item.tokens, f"{item.as_written:.3f}", f"{item.renamed:.3f}", f"{item.difference:+z.3f}"]
        for item in sorted(found, key=lambda item: -item.difference)
    ]
    columns = ["task", "file", "tokens", "as written", "renamed", "difference"]
    title = "Mean probability of a token, given those before it"
    show(sheet(title, columns, rows, numbers=columns[2:], spare=["tokens", "file"]), console())
    for result in related:
        text = f"not defined: {result.problem}"
        if result.rho is not None and result.p is not None:
            text = f"Spearman's rho {result.rho:+z.2f}, p = {result.p:.3f}"
        say(f"{result.system}: success against difference over {counted(result.tasks, 'task')}: {text}")
