"""`lmrbench analyse`: analyses of runs and published records, among them those of the LMR-BENCH paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from lmrbench.cli import options
from lmrbench.cli.grading import select
from lmrbench.cli.lazy import group
from lmrbench.cli.terminal import print_json, say, show, warn
from lmrbench.errors import UsageError
from lmrbench.progress import progress_bars
from lmrbench.report.combine import together, warnings_of
from lmrbench.report.render.text import markdown
from lmrbench.report.sheets import analyses as tables
from lmrbench.report.sheets.judging import agreement_sheets, ties_lines
from lmrbench.runs.places import read_runs, run_folders

app = group("Analyse runs: agreement of raters, actions of agents, inputs, errors and more.")


@app.command()
def agreement(
    paths: Annotated[
        list[Path],
        Argument(metavar="LABELS|RUN...", help="Files of labels, and run folders with grades and judgements."),
    ],
    json: options.Json = False,
) -> None:
    """Measure how far judges, people and unit tests agree on the same answers.

    For each pair of raters, the tables show how often they agree, how often one says CC (completely correct) and the
    other LI (logic incorrect), and Cohen's kappa. For all annotators and all judges, they show Fleiss' kappa and
    Krippendorff's alpha. Unit tests rate answers CC if they pass, otherwise LI. Intervals are bootstrapped over papers.
    """
    from lmrbench.judging.labels import read_labels
    from lmrbench.report.measures.raters import compare_runs

    folders = run_folders(path for path in paths if path.is_dir())
    found = compare_runs(read_labels(path for path in paths if not path.is_dir()), folders)
    if not found.groups:
        raise UsageError("only unit tests rated these answers; name a file of labels, too")
    if json:
        print_json(found.model_dump())
        return
    show(*agreement_sheets(found))
    say(*ties_lines(found))


@app.command()
def actions(
    runs: Annotated[
        list[Path] | None, Argument(metavar="[RUN]...", help=f"{options.RUNS_HELP} By default the published records.")
    ] = None,
    events: Annotated[
        list[Path] | None,
        Option("--events", metavar="DIR", help="Folder of OpenHands events, named after the model; repeatable."),
    ] = None,
    outcomes: Annotated[
        Path | None,
        Option("--outcomes", metavar="FILE", help="With --events: a CSV file with columns task, solved and system."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Count the actions of agents by system and outcome, with a permutation test.

    The test compares the shares of actions in sessions that solved their task with those in all other sessions. Shares
    are averaged over sessions, and outcomes are permuted 10,000 times. Copies of a session are counted once.

    In --outcomes, `task` is the path of a session's folder below DIR, or the name of one folder in this path; `solved`
    is yes or no; `system` is needed only for several systems.
    """
    from lmrbench.integrations.lmr_bench.actions import contrasts, distributions
    from lmrbench.integrations.lmr_bench.sessions import sessions_of

    sessions = sessions_of(read_runs(runs or ()), events or [], outcomes)
    if copies := sum(item.copies - 1 for item in sessions):
        warn(f"{', '.join(map(str, events or []))}: each session is counted once; extra copies found: {copies}")
    found, tests = distributions(sessions), contrasts(sessions)
    if json:
        print_json(tables.actions_facts(found, tests))
        return
    show(tables.actions_sheet(found))
    if line := tables.repeated_line(sessions):
        say(line)
    show(tables.contrasts_sheet(tests))


@app.command()
def structure(runs: options.Runs, suite: options.Suite = None, json: options.Json = False) -> None:
    """Regress the success of answers on the structure of the repository.

    Two logistic regressions predict whether an answer passes. The predictors are the system (the first is the baseline)
    and four measures, each standardised over the answers: directory depth, branching, imbalance and goal length.
    Standard errors are clustered by paper. The first regression defines the measures as the LMR-BENCH paper does; the
    second counts files and masked lines.
    """
    from lmrbench.integrations.lmr_bench.structure import regressions

    grades = [item for run in read_runs(runs) for item in run.grades]
    tasks = {item.id: item for item in select(suite, None).chosen}
    found = regressions(grades, tasks)
    if json:
        print_json({name: item.model_dump() for name, item in found.items()})
        return
    for name, regression in found.items():
        table, line = tables.structure_parts(name, regression)
        show(table)
        say(line)
    warn(*dict.fromkeys(item.caution for item in found.values() if item.caution))


@app.command()
def ablation(runs: options.Runs, json: options.Json = False) -> None:
    """Compare the rates of each system between its runs with different --inputs: full, paper+file and paper.

    The tables show each system's rates on the tasks that are answered in all of its runs, and the paired differences
    between inputs, with the same tests as in `lmrbench report`.
    """
    from lmrbench.report.measures.ablation import ablations

    held = read_runs(runs)
    found = ablations(held)
    warn(*warnings_of(held), *tables.ablation_warnings(found))
    if json:
        print_json([item.model_dump() for item in found])
        return
    show(*tables.ablation_sheets(found))
    say(*tables.ablation_problems(found))


@app.command()
def errors(runs: options.Runs, labels: options.LabelFiles = None, json: options.Json = False) -> None:
    """Count errors by class, in answers that judges or people do not call completely correct.

    Errors are counted for each system and each rater. Each answer counts once.
    """
    from lmrbench.report.measures.ratings import errors_sheet, ratings, tallies

    findings = together(read_runs(runs), None, labels or ())
    warn(*findings.warnings)
    found = tallies(ratings(findings.judgements, findings.labels))
    if json:
        print_json([{**item.model_dump(), "faulty": item.faulty, "error_shares": item.error_shares} for item in found])
    elif found:
        show(errors_sheet(found))
    else:
        say(
            f"{', '.join(map(str, runs))}: no judgements and no labels; run `lmrbench judge`, or use --labels with a "
            "file that `lmrbench labels` wrote"
        )


@app.command()
def published(
    clone: Annotated[
        Path | None, Argument(metavar="[CLONE]", help="A clone of the public edition; by default the built-in records.")
    ] = None,
    json: options.Json = False,
    as_markdown: options.Markdown = False,
) -> None:
    """Recompute the numbers in the LMR-BENCH paper from its published records.

    For each number, the table says whether the recomputed value equals the published one, or why it can't be
    recomputed. A second table shows how far the judge, people and unit tests agree, with intervals over papers. For
    tests on the actions of agents, see `lmrbench analyse actions`. Records of the clone that can't be read are left
    out, with a warning.
    """
    from lmrbench.integrations.lmr_bench.recomputing import recomputed, recomputed_from

    found = recomputed() if clone is None else recomputed_from(clone)
    warn(*(f"{problem.where}: {problem.reason}" for problem in found.problems))
    if json:
        print_json(tables.published_facts(found.figures, found.pairs))
        return
    sheets = tables.published_sheets(found.figures, found.pairs)
    if as_markdown:
        print("\n".join(map(markdown, sheets)))
        return
    show(*sheets)
    say(tables.published_line(found.figures))


@app.command()
def familiarity(
    model: Annotated[
        str, Argument(metavar="MODEL", help="A folder, a name on the Hugging Face hub, or a model of --server.")
    ],
    runs: Annotated[
        list[Path] | None, Argument(metavar="[RUN]...", help=f"{options.RUNS_HELP} Needed for the correlation.")
    ] = None,
    server: Annotated[
        str | None, Option(metavar="URL", help="A server that returns log-probabilities of prompts, such as vLLM.")
    ] = None,
    task: options.Tasks = None,
    window: Annotated[int, options.advanced(min=2, help="Context length of a local model, in tokens.")] = 2048,
    batch: Annotated[int, options.advanced(min=1, help="Batch size of a local model.")] = 4,
    device: Annotated[str, options.advanced(help="The device of a local model: cpu, cuda, cuda:1, mps.")] = "cpu",
    suite: options.Suite = None,
    json: options.Json = False,
) -> None:
    """Measure how probable a model finds each goal file, compared with a renamed and reformatted copy.

    Goal files are the files of the reference that contain targets. The probability alone says little, because
    conventional code is probable, too. A file whose difference from the copy is larger than those of other files may
    have been in the training data. With run folders, the rank correlation of the difference with success is shown.
    """
    from lmrbench.report.familiarity import correlations, familiarities
    from lmrbench.report.token_probabilities import of_local_model, of_server

    tasks = select(suite, task).chosen
    grades = [item for run in read_runs(runs or ()) for item in run.grades]
    probabilities = of_server(server, model) if server else of_local_model(model, window, batch, device)
    with progress_bars() as bars:
        measured = bars.track(tasks, description="goal files")
        found = [item for task in measured for item in familiarities(task, probabilities)]
    related = correlations(found, grades)
    if json:
        print_json({"model": model, **tables.familiarity_facts(found, related)})
        return
    show(tables.familiarity_sheet(found))
    say(*tables.correlation_lines(related))
