"""`lmrbench judge`: what do language models say of the answers of a run?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench.cli.interrupt import as_cancellation
from lmrbench.cli.options import JsonOption, SuiteOption, TasksOption, load_all_and_some, print_json
from lmrbench.cli.terminal import console, progress, say
from lmrbench.report.render.tables import Sheet, sheet, show
from lmrbench.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lmrbench.judging.ballots import Shares


def judge(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder with submissions.jsonl.")],
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", metavar="MODEL", help="A judge, as Inspect names it. May be repeated."),
    ] = None,
    votes: Annotated[int, typer.Option(min=1, help="Votes of each judge on each answer.")] = 1,
    swap: Annotated[
        bool, typer.Option("--swap", help="Ask for each vote twice: reference first, and candidate first.")
    ] = False,
    evidence: Annotated[
        bool, typer.Option("--evidence", help="Tell the judge which cases failed, and why; needs grades.")
    ] = False,
    strip_comments: Annotated[
        bool, typer.Option("--strip-comments", help="Show the code without comments and docstrings.")
    ] = False,
    prices: Annotated[
        Path | None,
        typer.Option("--prices", metavar="FILE", help="JSON: dollars per million tokens, by model."),
    ] = None,
    connections: Annotated[int, typer.Option(min=1, help="Requests at once, of each judge.")] = 10,
    retries: Annotated[
        int, typer.Option(min=0, help="How often a failed call is tried again, with growing waits.")
    ] = 7,
    patience: Annotated[
        int,
        typer.Option(min=1, help="Seconds after which a call that does not answer, or only fails, is given up."),
    ] = 900,
    task: TasksOption = None,
    suite: SuiteOption = None,
    json: JsonOption = False,
) -> None:
    """Have language models judge the answers of a run, each beside the reference.

    A judge gives points on the logic and on the implementation, and a category: CC (completely correct), LC (logic
    correct, implementation faulty) or LI (logic incorrect). It does not learn whose answer it reads.

    Every vote is a line of judgements.jsonl in the run folder. The same command resumes after a kill, and asks for no
    vote twice. Refusals and answers of another form are unjudged. Where a provider failed, the command exits with 4;
    the same command then asks again.
    """
    from lmrbench.errors import UsageError
    from lmrbench.runs.folder import read_submissions, require_known
    from lmrbench.tasks.tiers.forensic import is_forensic

    if not model:
        raise UsageError("--model is needed: who is to judge, as openai/gpt-5")
    if twice := [name for name in model if model.count(name) > 1]:
        raise UsageError(f"--model {twice[0]}: is named twice; more votes are asked for with --votes")
    if not run.is_dir():
        raise UsageError(f"{run}: there is no such run folder")
    every_task, some = load_all_and_some(suite, task)
    tasks = {item.id: item for item in every_task}
    # Forensic tasks have no target that could be read beside a reference.
    submissions = [item for item in read_submissions(run) if not is_forensic(item.task)]
    require_known(run, submissions, tasks)
    chosen = [item for item in submissions if item.task in {item.id for item in some}]
    if not chosen:
        raise UsageError(f"{run}: no submission for {', '.join(item.id for item in some)}")
    from inspect_ai.model import GenerateConfig

    from lmrbench.judging import ballots, runs
    from lmrbench.judging.asking import JudgingPlan
    from lmrbench.models.opening import open_model, set_prices
    from lmrbench.models.settings import Settings
    from lmrbench.runs.folder import JUDGEMENTS

    if prices is not None:
        set_prices(prices, model[0])
    settings = Settings(connections=connections, retries=retries, patience=patience)
    models = [open_model(settings.model_copy(update={"model": name})) for name in model]
    with as_cancellation(), progress() as bars:
        bar = bars.add_task("votes", total=None)
        judged = runs.judge_run(
            folder=run,
            submissions=submissions,
            chosen=chosen,
            tasks=tasks,
            models=models,
            plan=JudgingPlan(votes=votes, swap=swap, evidence=evidence, strip_comments=strip_comments),
            config=GenerateConfig(**settings.requests()),
            connections=connections,
            planned=lambda done, total: bars.update(bar, completed=done, total=total),
            voted=lambda vote: bars.advance(bar),
        )
    names = [str(item) for item in models]
    found = list(ballots.shares(judged.judgements, [item.system for item in judged.unusable], names))
    if json:
        of_answers = [
            {**item.model_dump(), "majority": item.majority, "disagreement": item.disagreement}
            for item in ballots.ballots(judged.judgements)
        ]
        print_json(
            {
                "run": str(run),
                "shares": [item.model_dump() for item in found],
                "answers": of_answers,
                "judgements": [item.model_dump(mode="json") for item in judged.judgements],
            }
        )
    else:
        for table in _sheets(found):
            show(table, console())
        _say_costs(found, names)
        on = f"{counted(len(judged.judgements), 'vote')} on {counted(len(chosen), 'answer')}"
        say(f"{on}; they are in {run / JUDGEMENTS}")
    runs.require_judged(run, judged)


def _sheets(found: Sequence[Shares]) -> list[Sheet]:
    """The shares of the categories, and the error classes where there are any."""
    from lmrbench.runs.records import CATEGORIES, ERROR_CLASSES

    rows = []
    for item in found:
        counts = [*item.categories.values(), item.ties, item.unjudged, item.unusable]
        rows.append([item.system, item.judge, item.answers, *(f"{n / item.answers:.1%}" for n in counts), item.split])
    columns = ["system", "judge", "answers", *CATEGORIES, "tie", "unjudged", "unusable", "votes differ"]
    title = "Answers by the category that most votes give"
    tables = [sheet(title, columns, rows, numbers=columns[2:], spare=["votes differ", "answers"])]
    errors = [
        [item.system, item.judge, *(item.error_classes.get(name, 0) for name in ERROR_CLASSES)]
        for item in found
        if item.error_classes
    ]
    if errors:
        columns = ["system", "judge", *ERROR_CLASSES]
        tables.append(sheet("Votes for LC and LI, by error class", columns, errors, numbers=columns[2:]))
    return tables


def _say_costs(found: Sequence[Shares], judges: Sequence[str]) -> None:
    for judge in judges:
        own = [item for item in found if item.judge == judge]
        known = [item.dollars for item in own if item.dollars is not None]
        dollars = f", ${sum(known):.4f}" if known else ""
        read, written = sum(item.input_tokens for item in own), sum(item.output_tokens for item in own)
        say(f"{judge}: {read:,} tokens in, {written:,} out{dollars}")
