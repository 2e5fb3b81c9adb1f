"""`lmrbench export`, `site`, `submit` and `verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from lmrbench.cli import options
from lmrbench.cli.grading import grade_with_progress, select
from lmrbench.cli.terminal import say, show, warn
from lmrbench.grading.plan import GradingPlan
from lmrbench.grading.records import Result, not_submitted
from lmrbench.integrations.registry import EXPORTERS, WITH_GOLDENS, exporter
from lmrbench.progress import progress_bars, staged
from lmrbench.report.sheets.grading import missing_lines, verification_sheets
from lmrbench.report.sheets.suite import tiers_warning
from lmrbench.runs.pack import read_pack, write_pack
from lmrbench.runs.verify import begin, compare_claims, end, require_gradable, seeds_to_verify
from lmrbench.sandbox.protocol import DEFAULT_SANDBOX
from lmrbench.sandbox.registry import executor_of
from lmrbench.tasks.model import Inputs
from lmrbench.text import counted


def export(
    patterns: Annotated[list[str], Argument(metavar="TASK...", help=f"{options.PATTERN_HELP.partition(';')[0]}.")],
    to: Annotated[
        Path, Option("--to", metavar="PATH", help="The folder to write, or the file if the format is a single file.")
    ],
    inputs: Annotated[
        Inputs, Option(help="The inputs of a solver: full (the masked repository), paper+file, or paper.")
    ] = "full",
    format: Annotated[
        str,
        Option(
            metavar="FORMAT",
            help="; ".join(f"{name}: {item.about}" for name, item in EXPORTERS.items())
            + "; or a format that another package adds.",
        ),
    ] = "workspace",
    goldens: Annotated[
        bool, Option("--goldens", help=f"With {WITH_GOLDENS}: also write the answers, for a gated dataset.")
    ] = False,
    tier: options.TierName = "function",
    fresh: options.Fresh = None,
    suite: options.Suite = None,
) -> None:
    """Write the files that a solver gets for each task.

    These are the masked repository, the summary of the paper and the instruction. Answers are written only with
    --goldens, or in the format harbor, in which agents do not see them.
    """
    write = exporter(format, goldens)
    tasks = select(suite, patterns, tier, fresh).chosen
    if warning := tiers_warning(tasks, "do not give these files to solvers of other tiers of the same papers"):
        warn(warning)
    written = write(tasks, to, inputs, **({"goldens": True} if goldens else {}))
    with progress_bars() as bars:
        for place in bars.track(written, len(tasks), description="tasks"):
            say(str(place) if place != to else f"{counted(len(tasks), 'task')} in {to}")


def site(
    runs: options.Runs,
    to: Annotated[Path, Option("--to", metavar="DIR", help="The folder to write; an earlier site is replaced.")],
    suite: options.Suite = None,
) -> None:
    """Write a leaderboard of runs as a static site.

    The site shows systems, tasks, comparisons and the conditions of grading, but neither reasons nor answers. The pages
    need no server and load nothing from elsewhere. Tiers have separate boards, and so do runs with different suites,
    versions or ways of grading. The same runs always give the same site.
    """
    from lmrbench.web.site.building import build_site

    built = build_site(to, runs, suite)
    if built.ways > 1:
        warn("these runs are of different suites or versions, or were graded differently; they are on separate boards")
    say(f"{to}: {counted(built.boards, 'board')}, {counted(built.files, 'file')}; index.html is the leaderboard")


def submit(
    run: Annotated[Path, Argument(metavar="RUN", help="The run folder; it must be finished.")],
    to: Annotated[Path, Option("--to", metavar="FILE.zip", help="The pack to write.")],
    with_logs: Annotated[bool, Option("--with-logs", help="Also pack the conversations with the model.")] = False,
) -> None:
    """Pack a run so that others can grade it again.

    A pack contains the answers, whether each is correct and robust, the conditions of the run, and the cost of each
    answer. It contains no reasons, and no folders, addresses, commands or secret seed of this machine. `lmrbench
    verify` grades a pack. The same run always gives the same bytes.
    """
    manifest = write_pack(run, to, with_logs)
    say(f"{to}: {', '.join(manifest.files)}")


def verify(
    pack: Annotated[Path, Argument(metavar="PACK", help="A pack of `lmrbench submit`.")],
    to: Annotated[Path, Option("--to", metavar="RUN", help="The run folder. An unfinished verification is resumed.")],
    seed: Annotated[
        int | None, Option("--seed", min=0, max=2**31 - 1, help="Draw the cases from this seed instead of a fresh one.")
    ] = None,
    sandbox: options.Sandbox = DEFAULT_SANDBOX,
    workers: options.Workers = None,
    isolate: options.Isolate = False,
    executor: options.ExecutorName = "local",
    address: options.Address = None,
    suite: options.Suite = None,
) -> None:
    """Grade the answers of a pack again and compare the grades.

    Cases are drawn from a fresh seed. Afterwards, the run folder contains grades like any other run, and `lmrbench
    site` marks it as verified. Exits with 0 if every grade is as claimed, with 1 if one differs, and with 2 if the pack
    can't be used.
    """
    where = executor_of(executor, address)
    found = read_pack(pack)
    submissions = list(found.submissions)
    tasks = select(suite, None).with_tiers_of(submissions, sandbox, staged)
    require_gradable(pack, submissions, tasks.by_id)
    begin(found, to)
    seeds = seeds_to_verify(to, seed)
    plan = GradingPlan(
        seeds, fresh_seeds=seed is None, sandbox=sandbox, executor=where, workers=workers, isolate=isolate
    )
    results = [Result.of(item) for item in grade_with_progress(to, submissions, tasks, plan)]
    answers = compare_claims(found, sorted(results, key=lambda item: item.answer))
    result = end(found, to, answers)
    show(*verification_sheets(answers))
    if result.suite_digest != result.claimed_suite_digest:
        warn(f"{pack} was graded with another version of the suite, which may explain differences between grades")
    names = {item.id for item in tasks.chosen if item.files.check}
    say(*missing_lines(not_submitted(results, names), len(names)))
    drawn = f"seed {', '.join(map(str, seeds))}, {'drawn for this verification' if seed is None else 'as given'}"
    say(f"{result.differ} of {result.answers} grades differ from the claimed ones ({drawn}); the run is in {to}")
    if result.differ:
        raise typer.Exit(1)
