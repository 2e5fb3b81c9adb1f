"""`lmrbench analyse`: the analyses of the LMR-BENCH paper, on runs and on the published records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench.cli.options import JsonOption, SuiteOption, load_tasks, print_json
from lmrbench.cli.tables import sheet, show
from lmrbench.cli.terminal import console, say

if TYPE_CHECKING:
    from lmrbench.analysis.actions import Session

app = typer.Typer(no_args_is_help=True, help="The analyses of the LMR-BENCH paper, on runs and published records.")

Runs = Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders, of `lmrbench run` or `grade`.")]


@app.command()
def actions(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="[RUN]...", help="Run folders; without any, the published records.")
    ] = None,
    events: Annotated[
        list[Path] | None,
        typer.Option("--events", metavar="DIR", help="A folder of OpenHands' events; may be given several times."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show what agents did, by system and outcome, with a permutation test.

    The test asks whether sessions that solved their task have other shares of actions than those that did not: shares
    are averaged over sessions, and outcomes are permuted 10,000 times.
    """
    from lmrbench.analysis.actions import KINDS, contrasts, distributions

    sessions = _sessions(runs or [], events or [])
    found, tests = distributions(sessions), contrasts(sessions)
    if json:
        print_json(
            {
                "distributions": [item.model_dump() for item in found],
                "contrasts": [item.model_dump() for item in tests],
            }
        )
        return
    rows = [
        [item.system, item.outcome, item.sessions, item.actions, *(_percent(item.shares.get(kind)) for kind in KINDS)]
        for item in found
    ]
    columns = ["system", "outcome", "sessions", "actions", *KINDS]
    show(sheet("Actions of agents", columns, rows, numbers=columns[2:], spare=["sessions"]), console())
    rows = [
        [
            item.system,
            item.solved,
            item.unsolved,
            "not defined" if item.distance is None else f"{item.distance:.3f}",
            "not defined" if item.p is None else f"{item.p:.4f}",
        ]
        for item in tests
    ]
    columns = ["system", "solved", "not solved", "distance", "p"]
    title = "Do sessions that solve their task differ from the others? Permutation test"
    show(sheet(title, columns, rows, numbers=columns[1:]), console())


@app.command()
def structure(runs: Runs, suite: SuiteOption = None, json: JsonOption = False) -> None:
    """Regress passing on the structure of the repository.

    Logistic regression on directory depth, branching, imbalance and goal length, each standardised over the answers,
    and on systems, against the first one; standard errors are clustered by paper.
    """
    from lmrbench.analysis.structure import regression
    from lmrbench.grading.runs import read_run

    grades = [item for folder in runs for item in read_run(folder).grades]
    found = regression(grades, {item.id: item for item in load_tasks(suite, None)})
    if json:
        print_json(found.model_dump())
        return
    if found.problem:
        say(f"not defined: {found.problem} ({found.answers} answers, {found.papers} papers)")
        return
    rows = [
        [item.name, f"{item.value:.3f}", f"{item.error:.3f}", f"{item.z:.2f}", f"{item.p:.3f}"]
        for item in found.coefficients
    ]
    columns = ["", "coefficient", "standard error", "z", "p"]
    show(sheet("Passing by structure of the repository", columns, rows, numbers=columns[1:]), console())
    say(f"{found.answers} answers, {found.papers} papers; measures in standard deviations")


def _sessions(runs: list[Path], events: list[Path]) -> list[Session]:
    from lmrbench.analysis.actions import published_sessions, sessions_of_events, sessions_of_run
    from lmrbench.errors import UsageError
    from lmrbench.grading.runs import read_run

    if not runs and not events:
        return published_sessions()
    found = [item for folder in runs for item in sessions_of_run(read_run(folder))]
    found += [item for folder in events for item in sessions_of_events(folder)]
    if not found:
        raise UsageError(f"{', '.join(map(str, runs))}: holds no logs of an agent")
    return found


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"
