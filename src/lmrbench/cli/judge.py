"""`lmrbench judge`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from lmrbench.cli import options
from lmrbench.cli.derived import with_options
from lmrbench.cli.grading import select
from lmrbench.cli.terminal import print_json, say, show
from lmrbench.errors import UsageError
from lmrbench.judging.answers import answers_to_judge
from lmrbench.judging.plan import JudgingPlan, judging_plan
from lmrbench.models.settings import Settings
from lmrbench.progress import progress_bars
from lmrbench.report.sheets.judging import judges_costs, votes_facts, votes_sheets
from lmrbench.runs.folder import JUDGEMENTS
from lmrbench.text import counted

if TYPE_CHECKING:
    from lmrbench.judging.runs import Judged

Models = Annotated[
    list[str] | None,
    Option("--model", "-m", metavar="MODEL", help="A model that judges, in Inspect's notation. May be repeated."),
]


@with_options
def judge(
    *,
    run: Annotated[Path, Argument(metavar="RUN", help="A run folder with submissions.jsonl.")],
    model: Models = None,
    asked: Annotated[dict[str, Any], JudgingPlan],
    prices: options.Prices = None,
    connections: Annotated[int, options.advanced(min=1, help="Maximum number of concurrent requests.")] = 10,
    retries: Annotated[int, options.advanced(min=0, help="Number of retries of a failed call (with backoff).")] = 7,
    patience: Annotated[
        int, options.advanced(min=1, help="Seconds until a call that hangs or keeps failing is abandoned.")
    ] = 900,
    task: options.Tasks = None,
    suite: options.Suite = None,
    json: options.Json = False,
) -> None:
    """Have language models judge the answers of a run.

    A judge reads each answer together with the reference, and does not learn which system wrote it. It comments on the
    logic and on the implementation, and gives a category: CC (completely correct), LC (logic correct, implementation
    faulty) or LI (logic incorrect).

    Votes are appended to judgements.jsonl in the run folder. If the command is interrupted, run it again to resume;
    stored votes are not requested again. If a judge refuses or its reply is malformed, the answer counts as unjudged.
    If a provider fails, the command exits with 4; run it again to request the missing votes.
    """
    judges = _judges(model or [])
    if not run.is_dir():
        raise UsageError(f"{run}: there is no such run folder")
    tasks = select(suite, task)
    submissions, chosen = answers_to_judge(run, tasks.by_id, tasks.names)
    plan = judging_plan(**asked)
    # Imported here, because importing Inspect takes seconds.
    from lmrbench.judging.runs import require_judged
    from lmrbench.judging.starting import judge_with

    with progress_bars() as bars:
        bar = bars.add_task("votes", total=None)
        judged = judge_with(
            judges=judges,
            settings=Settings(connections=connections, retries=retries, patience=patience),
            prices=prices,
            folder=run,
            submissions=submissions,
            chosen=chosen,
            tasks=tasks.by_id,
            plan=plan,
            planned=lambda done, total: bars.update(bar, completed=done, total=total),
            voted=lambda vote: bars.advance(bar),
        )
    _print_votes(run, judged, json)
    require_judged(run, judged)


def _judges(models: list[str]) -> list[str]:
    """Return the models that judge. Raises UsageError if there are none or one is given twice."""
    if not models:
        raise UsageError("--model: required; name the judge, such as openai/gpt-5")
    if twice := [name for name in models if models.count(name) > 1]:
        raise UsageError(f"--model {twice[0]} is given twice; use --votes to ask for more votes")
    return models


def _print_votes(run: Path, judged: Judged, json: bool) -> None:
    from lmrbench.judging import ballots

    found = list(ballots.shares(judged.judgements, [item.system for item in judged.unusable], judged.judges))
    if json:
        print_json({"run": str(run), **votes_facts(found, judged.judgements)})
    else:
        show(*votes_sheets(found))
        on = f"{counted(len(judged.judgements), 'vote')} on {counted(len(judged.submissions), 'answer')}"
        say(*judges_costs(found, judged.judges), f"{on}; votes are stored in {run / JUDGEMENTS}")
