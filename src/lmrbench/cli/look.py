"""`lmrbench report`, `why` and `view`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from lmrbench.cli import options
from lmrbench.cli.grading import select_one
from lmrbench.cli.report import print_report
from lmrbench.cli.terminal import console, print_json, say, show, warn
from lmrbench.errors import UsageError
from lmrbench.files import write_whole
from lmrbench.report.build import build
from lmrbench.report.combine import together
from lmrbench.report.findings import kept_since, split
from lmrbench.report.headlines import in_markdown
from lmrbench.report.sheets.answers import answer_facts, choose, failure_facts, failures, verdict_line
from lmrbench.report.sheets.grading import failed_cases_sheet, failing_grades_sheet
from lmrbench.runs.folder import read_run
from lmrbench.runs.index import RunIndex
from lmrbench.runs.places import RUNS, read_runs, run_folders
from lmrbench.tasks.loading import load_suite, suite_folder
from lmrbench.text import counted


def report(
    runs: options.Runs,
    full: Annotated[bool, Option("--full", help="Print all other tables, too.")] = False,
    labels: options.LabelFiles = None,
    suite: options.Suite = None,
    json: options.Json = False,
    as_markdown: options.Markdown = False,
    since: Annotated[
        str | None,
        Option(
            metavar="DATE",
            help="Report only tasks whose method became public on this date (YYYY-MM-DD or YYYY-MM) or later.",
        ),
    ] = None,
    cutoff: Annotated[
        str | None,
        Option(
            metavar="DATE",
            help="Also report separate rates for methods that became public before and after a date, such as the end "
            "of a model's training data.",
        ),
    ] = None,
    html: Annotated[Path | None, Option(metavar="FILE", help="Also write an HTML page, with figures.")] = None,
    csv: Annotated[Path | None, Option(metavar="DIR", help="Also write each table to a CSV file.")] = None,
    as_latex: Annotated[
        Path | None, Option("--latex", metavar="FILE", help="Also write all tables as LaTeX (booktabs, graphicx).")
    ] = None,
) -> None:
    """Report results: one row per system, or all tables, an HTML page, CSV or LaTeX.

    Each row has the rates of correct and robust answers with a 95% interval over papers, unanswered samples and costs.
    The sentences below the table say which systems differ by more than chance. --full adds tables of rates by task and
    by category, failures by kind, statuses of answers, pass@k, costs per passing answer, the effort of traced agents,
    speed, comparisons of systems, and the ratings of judges and people. The files of --html, --csv and --latex contain
    all tables; docs/evaluate-a-model.md explains them.

    Runs may be finished, interrupted or from another machine. No model is called, and nothing is graded or changed.
    Samples that have no answer because a provider or an agent's program failed are listed separately and omitted from
    the rates.
    """
    findings = together(read_runs(runs), suite, labels or ())
    if since is not None:
        findings = kept_since(findings, options.day(since, "--since"))
    if cutoff is not None:
        findings = split(findings, options.day(cutoff, "--cutoff"))
    warn(*findings.warnings)
    made = build(findings)
    if html or csv or as_latex:
        from lmrbench.report.render.files import rendered

        for file, text in rendered(made, html, csv, as_latex):
            write_whole(file, text.encode())
            if not (json or as_markdown):
                say(f"{file}: written")
    if as_markdown and not json:
        print(in_markdown(made, full))
    else:
        print_report(made, full, json)


def why(
    run: Annotated[Path, Argument(metavar="RUN", help="A run folder.")],
    task: Annotated[
        str | None, Argument(metavar="[TASK]", help="A task id, such as dpo/preference_loss; by default all failures.")
    ] = None,
    system: Annotated[str | None, Option(help="The system, if the run has several.")] = None,
    sample: Annotated[
        int | None, Option(min=0, help="The number of the system's answer; by default the first one that fails.")
    ] = None,
    suite: options.Suite = None,
    json: options.Json = False,
) -> None:
    """List the answers of a run that fail at least one case, or show why one of them fails.

    For a single answer, the command shows the failed cases, and the code that was taken from the answer next to the
    masked function. If no code could be taken, the whole answer is shown.
    """
    held = read_run(run)
    if task is None:
        failed = failures(held, system, sample)
        if json:
            print_json({"run": str(run), "failures": [failure_facts(item) for item in failed]})
            return
        if failed:
            show(failing_grades_sheet(failed))
            say(f"`lmrbench why {run} TASK` shows all failed cases of an answer")
        of_all = sum(system in (None, item.system) and sample in (None, item.sample) for item in held.grades)
        say(f"{len(failed)} of {counted(of_all, 'answer')} failed at least one case")
        return
    found = select_one(suite, task)
    answer = choose(held, found.id, system, sample)
    if json:
        print_json(answer_facts(answer.grade))
        return
    from lmrbench.report.render.task import answer_parts

    say(verdict_line(answer), *(f"  {warning}" for warning in answer.grade.warnings))
    print()
    show(failed_cases_sheet(answer.grade))
    if answer.submission is None:
        say(f"{run} contains the grade but not the answer")
        return
    out = console()
    for part in answer_parts(found, answer.submission, out.width):
        out.print(part)


def view(
    runs: Annotated[
        list[Path] | None, Argument(metavar="[RUN]...", help=f"{options.RUNS_HELP} By default runs/.")
    ] = None,
    host: Annotated[str, Option(help="Address to listen on; anyone who reaches it can read all pages.")] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="The port to listen on; 0 for any free port.")] = 7575,
    show_reference: Annotated[bool, Option("--show-reference", help="Show the reference next to each answer.")] = False,
    labels: options.LabelFiles = None,
    suite: options.Suite = None,
) -> None:
    """Browse runs: a table of tasks and systems, and the code and failures of each answer.

    The pages also show votes and costs. They are served from this machine and load nothing from elsewhere. The page of
    an unfinished run reloads when there are new results. Ctrl-C stops the server.
    """
    from lmrbench.web.app import Viewer, application
    from lmrbench.web.serving import listening, serve

    folders = run_folders(runs or [RUNS])
    if unread := [file for file in labels or () if not file.is_file()]:
        raise UsageError(f"{unread[0]}: there is no such file; --labels needs a file of labels")
    tasks = {task.id: task for task in load_suite(suite_folder(suite))}
    viewer = Viewer([RunIndex(folder, labels or ()) for folder in folders], tasks, show_reference)
    with listening(host, port) as server:
        say(f"{server.address} shows {counted(len(folders), 'run')}; press Ctrl-C to stop the server")
        try:
            serve(application(viewer, server.names), server)
        finally:
            viewer.transcripts.close()
