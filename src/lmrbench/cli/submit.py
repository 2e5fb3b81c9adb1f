"""`lmrbench submit` and `lmrbench verify`: a run packed for others, and graded again by them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench.cli.grade import grade_with_progress, not_submitted, with_tiers_of
from lmrbench.cli.options import (
    AddressOption,
    ExecutorOption,
    SandboxOption,
    SuiteOption,
    WorkersOption,
    executor_of,
    load_all_and_some,
)
from lmrbench.cli.terminal import console, say, warn
from lmrbench.report.render.tables import sheet, show
from lmrbench.sandbox.protocol import DEFAULT_SANDBOX
from lmrbench.tasks.loading import suite_folder
from lmrbench.text import counted

if TYPE_CHECKING:
    from lmrbench.runs.verify import VerifiedClaim


def submit(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder; it must be finished.")],
    to: Annotated[Path, typer.Option("--to", metavar="FILE.zip", help="The pack.")],
    with_logs: Annotated[
        bool,
        typer.Option(
            "--with-logs", help="Also pack what was said to the model and what it answered, out of Inspect's logs."
        ),
    ] = False,
) -> None:
    """Pack a run for others to grade again, with `lmrbench verify`.

    The pack holds the answers, which of them pass, the conditions, and what each answer cost; no reasons, and nothing
    of this machine: no folders, addresses or commands, and not the seed that it keeps secret. The same run gives the
    same bytes.
    """
    from lmrbench.runs.pack import write_pack

    manifest = write_pack(run, to, with_logs)
    say(f"{to}: {', '.join(manifest.files)}")


def verify(
    pack: Annotated[Path, typer.Argument(metavar="PACK", help="What `lmrbench submit` wrote.")],
    to: Annotated[
        Path, typer.Option("--to", metavar="RUN", help="The run folder. One in which this was stopped is resumed.")
    ],
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", min=0, max=2**31 - 1, help="Draw the cases from this seed, instead of one that nobody knows yet."
        ),
    ] = None,
    sandbox: SandboxOption = DEFAULT_SANDBOX,
    workers: WorkersOption = None,
    isolate: Annotated[
        bool,
        typer.Option("--isolate", help="Never run the code of two systems at the same time; see docs/security.md."),
    ] = False,
    executor: ExecutorOption = "local",
    address: AddressOption = None,
    suite: SuiteOption = None,
) -> None:
    """Grade the answers of a pack again, under a fresh seed, and say what differs from what was claimed.

    The run folder then holds them like those of any run, and `lmrbench site` shows it as verified. Exits with 0 if
    every verdict is as claimed, with 1 if one differs, and with 2 for a pack that can't be used.
    """
    from lmrbench.errors import RecordError
    from lmrbench.grading.draw import fresh_seed
    from lmrbench.grading.plan import GradingPlan
    from lmrbench.grading.records import Result
    from lmrbench.runs.folder import drawn_seeds, require_known
    from lmrbench.runs.pack import read_pack
    from lmrbench.runs.verify import begin, compare_claims, end

    where = executor_of(executor, address)
    found = read_pack(pack)
    submissions = list(found.submissions)
    every_task, tasks = with_tiers_of(load_all_and_some(suite, None)[0], submissions, suite_folder(suite), sandbox)
    by_id = {item.id: item for item in every_task}
    require_known(pack, submissions, by_id)
    if unchecked := [item.task for item in submissions if not by_id[item.task].files.check]:
        raise RecordError(f"{pack}: {unchecked[0]} has no check, so that it can't be graded")
    begin(found, to)
    seeds = (seed,) if seed is not None else drawn_seeds(to) or (fresh_seed(),)
    plan = GradingPlan(
        seeds, fresh_seeds=seed is None, sandbox=sandbox, executor=where, workers=workers, isolate=isolate
    )
    results = [Result.of(item) for item in grade_with_progress(to, submissions, every_task, plan)]
    answers = compare_claims(found, sorted(results, key=lambda item: item.answer))
    result = end(found, to, answers)
    _print_counts(answers)
    if result.suite_digest != result.claimed_suite_digest:
        warn(f"{pack}: was graded under another version of the suite, which may be why verdicts differ")
    for system, missing in not_submitted(results, {item.id for item in tasks if item.files.check}).items():
        say(f"{system}: nothing submitted for {counted(len(missing), 'task')}")
    drawn = f"seed {', '.join(map(str, seeds))}, {'drawn for this' if seed is None else 'as given'}"
    say(f"{result.differ} of {result.answers} verdicts differ from what was claimed ({drawn}); the run is in {to}")
    if result.differ:
        raise typer.Exit(1)


def _print_counts(answers: list[VerifiedClaim]) -> None:
    """How many answers of each system pass, as claimed and as found, and which verdicts differ."""
    from lmrbench.records import grouped

    out = console()
    rows = [
        [system, len(items), sum(item.claimed for item in items), sum(item.found.passed for item in items)]
        for system, items in grouped(answers, lambda item: item.found.system).items()
    ]
    columns = ["system", "answers", "claimed to pass", "pass"]
    show(sheet("Answers that pass", columns, rows, numbers=columns[1:]), out)
    differ = [
        [item.found.system, item.found.task, item.found.answer.sample, _word(item.claimed), _word(item.found.passed)]
        for item in answers
        if item.claimed != item.found.passed
    ]
    if differ:
        columns = ["system", "task", "sample", "claimed", "found"]
        show(sheet("Verdicts that differ", columns, differ, numbers=["sample"]), out)


def _word(passed: bool) -> str:
    return "passed" if passed else "failed"
