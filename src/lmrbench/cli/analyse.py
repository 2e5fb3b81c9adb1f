"""`lmrbench analyse`: the analyses of the LMR-BENCH paper, on runs and on the published records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench.cli.options import (
    RUNS_HELP,
    JsonOption,
    LabelFilesOption,
    RunsArgument,
    SuiteOption,
    load_tasks,
    print_json,
    run_folders,
)
from lmrbench.cli.terminal import console, say, warn
from lmrbench.report.findings import together, warnings_of
from lmrbench.report.render.cells import UNDEFINED, counted_answers, number, p_value, percent, span
from lmrbench.report.render.tables import Sheet, sheet, show
from lmrbench.text import counted

if TYPE_CHECKING:
    from lmrbench.integrations.lmr_bench.actions import AgentSession, Distribution
    from lmrbench.report.measures.ablation import Ablation

app = typer.Typer(no_args_is_help=True, help="The analyses of the LMR-BENCH paper, on runs and published records.")


@app.command()
def actions(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="[RUN]...", help=f"{RUNS_HELP} Without any, the published records.")
    ] = None,
    events: Annotated[
        list[Path] | None,
        typer.Option(
            "--events", metavar="DIR", help="A folder of one model's OpenHands events, named after it. May be repeated."
        ),
    ] = None,
    outcomes: Annotated[
        Path | None,
        typer.Option(
            "--outcomes",
            metavar="FILE",
            help="With --events: a CSV file with the columns task and solved (yes or no) and, if needed, system.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show what agents did, by system and outcome, with a permutation test.

    The test asks whether sessions that solved their task have other shares of actions than those that did not: shares
    are averaged over sessions, and outcomes are permuted 10,000 times.

    A session whose events are found more than once is counted once. In --outcomes, `task` is the folder of a session
    below DIR, or one of the folders on the way to it.
    """
    from lmrbench.integrations.lmr_bench.actions import KINDS, contrasts, distributions

    sessions = _sessions(runs or [], events or [], outcomes)
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
        [item.system, item.outcome, item.sessions, item.actions, *(_counted(item, kind) for kind in KINDS)]
        for item in found
    ]
    columns = ["system", "outcome", "sessions", "actions", *KINDS]
    title = "Actions of agents, and their shares"
    show(sheet(title, columns, rows, numbers=columns[2:], spare=["sessions"]), console())
    if repeated := sum(item.repeated for item in sessions):
        say(
            f"{len(sessions) - repeated} of {len(sessions)} recorded sessions are counted: those that the results "
            f"name. The {repeated} others repeat a paper; the rows 'with repeats' have all, as the paper's totals do"
        )
    rows = [
        [
            item.system,
            item.solved,
            item.unsolved,
            number(item.distance, ".3f"),
            number(item.p, ".4f"),
        ]
        for item in tests
    ]
    columns = ["system", "solved", "not solved", "distance", "p"]
    title = "Do sessions that solve their task differ from the others? Permutation test"
    show(sheet(title, columns, rows, numbers=columns[1:]), console())


@app.command()
def structure(runs: RunsArgument, suite: SuiteOption = None, json: JsonOption = False) -> None:
    """Regress passing on the structure of the repository.

    Logistic regression on directory depth, branching, imbalance and goal length, each standardised over the answers,
    and on systems, against the first one; standard errors are clustered by paper. Twice: with the measures as the
    LMR-BENCH paper defines them, and with ours, which count files and masked lines.
    """
    from lmrbench.integrations.lmr_bench.structure import paper_structure, regression
    from lmrbench.integrations.lmr_bench.structure import structure as our_structure
    from lmrbench.runs.folder import read_run

    grades = [item for folder in run_folders(runs) for item in read_run(folder).grades]
    tasks = {item.id: item for item in load_tasks(suite, None)}
    found = {"paper": regression(grades, tasks, paper_structure), "ours": regression(grades, tasks, our_structure)}
    if json:
        print_json({name: item.model_dump() for name, item in found.items()})
        return
    for name, measures in (("paper", "the paper's measures"), ("ours", "our measures")):
        item = found[name]
        counts = f"{counted(item.answers, 'answer')}, {counted(item.papers, 'paper')}"
        if item.problem:
            say(f"{measures}: {UNDEFINED}: {item.problem} ({counts})")
            continue
        rows = [
            [part.name, number(part.value, ".3f"), number(part.error, ".3f"), number(part.z, ".2f"), p_value(part.p)]
            for part in item.coefficients
        ]
        columns = ["", "coefficient", "standard error", "z", "p"]
        title = f"Passing by structure of the repository, {measures}"
        show(sheet(title, columns, rows, numbers=columns[1:]), console())
        say(f"{counts}; measures in standard deviations")
    for caution in dict.fromkeys(item.caution for item in found.values() if item.caution):
        warn(caution)


@app.command()
def ablation(runs: RunsArgument, json: JsonOption = False) -> None:
    """Compare the rates of a system under different inputs: full, paper+file and paper.

    Name the runs of one or several systems under different --inputs. For each system: the rate with each inputs, on the
    tasks that have an answer in all of its runs, and the paired differences, with the tests of `lmrbench report`.
    """
    from lmrbench.report.measures.ablation import ablations
    from lmrbench.runs.folder import read_run

    held = [read_run(folder) for folder in run_folders(runs)]
    found = ablations(held)
    for warning in (*warnings_of(held), *_differing(found)):
        warn(warning)
    if json:
        print_json([item.model_dump() for item in found])
        return
    for table in _ablation_sheets([item for item in found if not item.problem]):
        show(table, console())
    for item in found:
        if item.problem:
            say(f"{item.system}: {UNDEFINED}: {item.problem}")


@app.command()
def errors(runs: RunsArgument, labels: LabelFilesOption = None, json: JsonOption = False) -> None:
    """Count the errors of answers that judges or people do not call completely correct, by class.

    For each system and for everyone who judged or labelled its answers; an answer counts once.
    """
    from lmrbench.report.measures.ratings import errors_sheet, ratings, tallies
    from lmrbench.runs.folder import read_run

    findings = together([read_run(folder) for folder in run_folders(runs)], None, labels or ())
    for warning in findings.warnings:
        warn(warning)
    found = tallies(ratings(findings.judgements, findings.labels))
    if json:
        print_json([{**item.model_dump(), "faulty": item.faulty, "error_shares": item.error_shares} for item in found])
    elif found:
        show(errors_sheet(found), console())
    else:
        say(
            f"{', '.join(map(str, runs))}: nobody judged these answers, and no labels are named: `lmrbench judge` asks "
            "models, `lmrbench labels` has people label answers, and --labels names what they said"
        )


def _ablation_sheets(found: Sequence[Ablation]) -> list[Sheet]:
    """Rates and differences; none where there is no system that has any."""
    from lmrbench.report.measures.comparison import COMPARED, NUMERIC, SPARE, compared

    rates = [
        [
            item.system,
            inputs,
            item.tasks,
            counted_answers(rate),
            percent(rate.passed),
            span(rate.low, rate.high),
            span(rate.paper_low, rate.paper_high),
        ]
        for item in found
        for inputs, rate in item.rates.items()
    ]
    differences = [
        [item.system, pair.first, pair.second, *compared(pair)] for item in found for pair in item.differences
    ]
    if not rates:
        return []
    columns = ["system", "inputs", "tasks", "answers", "passed", "over tasks", "over papers"]
    pairs = ["system", "first", "second", *COMPARED]
    return [
        sheet(
            "Share of answers that pass by inputs, on the tasks that all of them answered, with 95% intervals",
            columns,
            rates,
            numbers=columns[2:],
            spare=["answers", "over papers"],
        ),
        sheet(
            "First inputs minus second, in percentage points, with Holm's correction for all rows",
            pairs,
            differences,
            numbers=NUMERIC,
            spare=SPARE,
        ),
    ]


def _differing(found: Iterable[Ablation]) -> list[str]:
    return [
        f"{item.system}: its runs differ in {', '.join(item.differing)} too, so that no difference is of inputs alone"
        for item in found
        if item.differing
    ]


def _sessions(runs: list[Path], events: list[Path], outcomes: Path | None) -> list[AgentSession]:
    from lmrbench.errors import UsageError
    from lmrbench.integrations.lmr_bench.actions import (
        published_sessions,
        sessions_of_events,
        sessions_of_run,
        with_outcomes,
    )
    from lmrbench.runs.folder import read_run

    if outcomes is not None and not events:
        raise UsageError("--outcomes: says which sessions of --events solved their task; name their folder, too")
    if not runs and not events:
        return published_sessions()
    logged = sessions_of_events(*events)
    if copies := sum(item.copies - 1 for item in logged):
        warn(f"{', '.join(map(str, events))}: {copies} copies of sessions were found; each session is counted once")
    if outcomes is not None:
        logged = with_outcomes(logged, outcomes)
    found = [item for folder in run_folders(runs) for item in sessions_of_run(read_run(folder))] + logged
    if not found:
        raise UsageError(f"{', '.join(map(str, runs))}: holds no logs of an agent")
    return found


def _counted(item: Distribution, kind: str) -> str:
    return f"{item.counts[kind]} ({item.shares[kind]:.1%})" if item.actions else ""
