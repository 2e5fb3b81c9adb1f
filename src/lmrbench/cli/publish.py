"""`lmrbench export`, `site`, `submit` and `verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from lmrbench.cli.grading import grade_with_progress, select
from lmrbench.cli.options import (
    PATTERN_HELP,
    AddressOption,
    ExecutorOption,
    FreshOption,
    IsolateOption,
    RunsArgument,
    SandboxOption,
    SuiteOption,
    TierOption,
    WorkersOption,
    executor_of,
)
from lmrbench.cli.terminal import progress, say, show, warn
from lmrbench.errors import RecordError, UsageError
from lmrbench.files import write_whole
from lmrbench.grading.records import Result, not_submitted
from lmrbench.integrations.harbor import folder_name, write_harbor
from lmrbench.integrations.huggingface import about_tiers, write_dataset, write_jsonl
from lmrbench.report.sheets.grading import missing_lines, verification_sheets
from lmrbench.report.sheets.suite import tiers_warning
from lmrbench.runs.folder import drawn_seeds, read_run, require_known
from lmrbench.runs.pack import read_pack, write_pack
from lmrbench.runs.places import run_folders, seeds_of
from lmrbench.runs.verify import begin, compared, end
from lmrbench.sandbox.protocol import DEFAULT_SANDBOX
from lmrbench.tasks.loading import load_suite, suite_folder
from lmrbench.tasks.model import Inputs
from lmrbench.tasks.workspace import export_workspace
from lmrbench.text import counted


def export(
    patterns: Annotated[list[str], typer.Argument(metavar="TASK...", help=f"{PATTERN_HELP.partition(';')[0]}.")],
    to: Annotated[
        Path,
        typer.Option(
            "--to",
            metavar="PATH",
            help="A folder: each workspace is written to PATH/paper/task, each task of Harbor to PATH/paper__task, a "
            "dataset to PATH. For jsonl, a file.",
        ),
    ],
    inputs: Annotated[
        Inputs, typer.Option(help="What is shown: full (the masked repository), paper+file, or paper.")
    ] = "full",
    format: Annotated[
        Literal["workspace", "harbor", "huggingface", "jsonl"],
        typer.Option(
            help="workspace: folders to edit. harbor: folders that Harbor runs, which hold the answers in places that "
            "its agents don't see. huggingface: a dataset with a card. jsonl: the same rows in one file.",
        ),
    ] = "workspace",
    goldens: Annotated[
        bool, typer.Option("--goldens", help="With huggingface: also write the answers, for a gated dataset.")
    ] = False,
    tier: TierOption = "function",
    fresh: FreshOption = None,
    suite: SuiteOption = None,
) -> None:
    """Write what a solver sees of each task.

    That is the masked repository, the summary of the paper and the instruction, and never the answer.
    """
    if goldens and format != "huggingface":
        raise UsageError("--goldens goes with --format huggingface")
    tasks = select(suite, patterns, tier, fresh).chosen
    if warning := tiers_warning(tasks, "do not give what is written here to solvers of their tasks of another tier"):
        warn(warning)
    if format == "huggingface":
        write_dataset(tasks, to, inputs, goldens)
    elif format == "jsonl":
        write_jsonl(tasks, to, inputs)
    else:
        with progress() as bars:
            for task in bars.track(tasks, description="tasks"):
                if format == "harbor":
                    folder = to / folder_name(task)
                    write_harbor(task, folder, inputs)
                else:
                    folder = to / task.paper.slug / task.name
                    export_workspace(task, folder, inputs)
                say(str(folder))
        if any(task.other_tiers for task in tasks):
            write_whole(to / "README.md", about_tiers(tasks).encode())
        return
    say(f"{counted(len(tasks), 'task')} in {to}")


def site(
    runs: RunsArgument,
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="The folder to write; an earlier site is replaced.")],
    suite: SuiteOption = None,
) -> None:
    """Write a leaderboard of runs as a static site.

    It shows systems, tasks, comparisons, and how all of it was graded, but neither reasons nor answers. The pages need
    no server and load nothing from elsewhere. Tiers, and runs of other suites, other versions or another way of
    grading, are on separate boards. The same runs give the same site.
    """
    try:
        from lmrbench.web.site.pages import pages
    except ModuleNotFoundError as error:
        raise UsageError(f"site needs {error.name}: pip install 'lmrbench[web]'") from error
    from lmrbench.web.site.boards import boards_of
    from lmrbench.web.site.data import named, site_of
    from lmrbench.web.site.writing import require_place, write_site

    require_place(to)
    found = named([read_run(folder) for folder in run_folders(runs)])
    if len({item.way for item in found}) > 1:
        warn("these runs are of different suites or versions, or were graded differently; they are on separate boards")
    made = site_of(found, boards_of(found, suite), {item.id: item for item in load_suite(suite_folder(suite))})
    files = pages(made)
    write_site(to, files)
    say(f"{to}: {counted(len(made.boards), 'board')}, {counted(len(files), 'file')}; index.html is the leaderboard")


def submit(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder; it must be finished.")],
    to: Annotated[Path, typer.Option("--to", metavar="FILE.zip", help="The pack.")],
    with_logs: Annotated[
        bool, typer.Option("--with-logs", help="Also pack the prompts and the model's answers from Inspect's logs.")
    ] = False,
) -> None:
    """Pack a run for others to grade again.

    `lmrbench verify` grades a pack. It holds the answers, which of them pass, the conditions, and the cost of each
    answer; no reasons, and nothing of this machine: no folders, addresses or commands, and not its secret seed. The
    same run gives the same bytes.
    """
    manifest = write_pack(run, to, with_logs)
    say(f"{to}: {', '.join(manifest.files)}")


def verify(
    pack: Annotated[Path, typer.Argument(metavar="PACK", help="A pack of `lmrbench submit`.")],
    to: Annotated[
        Path, typer.Option("--to", metavar="RUN", help="The run folder. An earlier verification is resumed.")
    ],
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, max=2**31 - 1, help="Draw the cases from this seed, not from a fresh one."),
    ] = None,
    sandbox: SandboxOption = DEFAULT_SANDBOX,
    workers: WorkersOption = None,
    isolate: IsolateOption = False,
    executor: ExecutorOption = "local",
    address: AddressOption = None,
    suite: SuiteOption = None,
) -> None:
    """Grade the answers of a pack again and compare the verdicts.

    Cases are drawn from a fresh seed. The run folder then holds the grades like those of any run, and `lmrbench site`
    shows it as verified. Exits with 0 if every verdict is as claimed, with 1 if one differs, and with 2 for a pack that
    can't be used.
    """
    where = executor_of(executor, address)
    found = read_pack(pack)
    submissions = list(found.submissions)
    tasks = select(suite, None).with_tiers_of(submissions, sandbox)
    known = tasks.by_id
    require_known(pack, submissions, known)
    if unchecked := [item.task for item in submissions if not known[item.task].files.check]:
        raise RecordError(f"{pack}: {unchecked[0]} has no check and can't be graded")
    begin(found, to)
    fresh = (len(drawn_seeds(to)) or 1) if seed is None else None
    seeds = seeds_of(to, seed, fresh)
    results = [
        Result.of(item)
        for item in grade_with_progress(
            to,
            submissions,
            tasks,
            seeds,
            sandbox,
            workers,
            fresh_seeds=seed is None,
            isolate=isolate,
            executor=where,
        )
    ]
    answers = compared(found, sorted(results, key=lambda item: item.answer))
    result = end(found, to, answers)
    show(*verification_sheets(answers))
    if result.suite_digest != result.claimed_suite_digest:
        warn(f"{pack}: was graded under another version of the suite, which may be why verdicts differ")
    names = {item.id for item in tasks.chosen if item.files.check}
    for line in missing_lines(not_submitted(results, names), len(names)):
        say(line)
    drawn = f"seed {', '.join(map(str, seeds))}, {'drawn for this' if seed is None else 'as given'}"
    say(f"{result.differ} of {result.answers} verdicts differ from what was claimed ({drawn}); the run is in {to}")
    if result.differ:
        raise typer.Exit(1)
