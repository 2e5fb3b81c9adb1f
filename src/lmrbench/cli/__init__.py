"""The command line. The module of a command is imported only when the command is called.

Exit codes: 0 success; 1 the command ran, but its result is negative (a built-in system passes or fails unexpectedly, a
task fails its audit, no sandbox works); 2 the command or its input is wrong; 3 this machine can't run the command; 4 a
provider or an agent's program failed; 130 interrupted.
"""

from __future__ import annotations

import signal
import sys
from typing import Annotated, Any

import typer
from typer import Option

from lmrbench.cli.lazy import Entry, LazyGroup
from lmrbench.cli.terminal import replace_what_cannot_be_printed, warn
from lmrbench.errors import LmrbenchError, UsageError
from lmrbench.interrupt import Interrupted, raise_interrupted
from lmrbench.progress import be_quiet
from lmrbench.version import __version__

EVALUATE, LOOK, PEOPLE, PUBLISH, TASKS, SET_UP = "Evaluate", "Look", "People", "Publish", "Tasks", "Set up"
TASK = {
    "new": Entry("Make a task from a repository and a function.", "authoring:new"),
    "mask": Entry("Mask functions of a repository and show the difference.", "authoring:mask"),
    "audit": Entry("Measure whether the checks of tasks accept correct answers and reject wrong ones.", "audit:audit"),
    "results": Entry("Write results.json, the logged results of the reference's experiment.", "authoring:results"),
    "forge": Entry("Draw deviations for a forensic task, or run each deviation of the pool alone.", "authoring:forge"),
    "accept": Entry(
        "Add an adversary's version of the targets to the task's wrong versions or rewrites.", "authoring:accept"
    ),
    "import": Entry("Make a suite from a clone of the public edition of LMR-BENCH.", "authoring:import_"),
}
SETUP = {
    "doctor": Entry("Test every sandbox on this machine and print how to install those that fail.", "setup:doctor"),
    "fetch": Entry("Download the packages, commits and archives that tasks use.", "setup:fetch"),
    "env": Entry("Build environments for papers with requirements of their own.", "setup:env"),
    "images": Entry("Build, list and remove the images that --sandbox docker grades in.", "setup:images"),
    "papers": Entry("Fetch papers as PDF or LaTeX, add your own copies, and list them.", "setup:papers"),
}
COMMANDS = {
    "run": Entry("Solve tasks, grade the answers and report the results.", "run:run", EVALUATE),
    "horizon": Entry("Measure how many undocumented changes an agent can find.", "horizon:horizon", EVALUATE),
    "grade": Entry("Grade submissions in a sandbox against the reference.", "grade:grade", EVALUATE),
    "judge": Entry("Have language models judge the answers of a run.", "judge:judge", EVALUATE),
    "report": Entry(
        "Report results: one row per system, or all tables, an HTML page, CSV or LaTeX.", "look:report", LOOK
    ),
    "why": Entry(
        "List the answers of a run that fail at least one case, or show why one of them fails.", "look:why", LOOK
    ),
    "view": Entry(
        "Browse runs: a table of tasks and systems, and the code and failures of each answer.", "look:view", LOOK
    ),
    "analyse": Entry(
        "Analyse runs: agreement of raters, actions of agents, inputs, errors and more.", "analyse:app", LOOK
    ),
    "annotate": Entry("Have people label answers in a browser.", "people:annotate", PEOPLE),
    "labels": Entry("Have people label answers in sheets; merge and adjudicate labels.", "people:labels", PEOPLE),
    "export": Entry("Write the files that a solver gets for each task.", "publish:export", PUBLISH),
    "site": Entry("Write a leaderboard of runs as a static site.", "publish:site", PUBLISH),
    "submit": Entry("Pack a run so that others can grade it again.", "publish:submit", PUBLISH),
    "verify": Entry("Grade the answers of a pack again and compare the grades.", "publish:verify", PUBLISH),
    "list": Entry("List the tasks of a suite, or summarize them.", "tasks:list_tasks", TASKS),
    "show": Entry("Show one task: its paper, instruction and masked function.", "tasks:show_task", TASKS),
    "collect": Entry("Collect answers into a file of submissions.", "tasks:collect", TASKS),
    "task": Entry("Write, check and import tasks.", panel=TASKS, entries=TASK),
    "setup": Entry(
        "Check this machine and fetch the code, packages and papers that tasks use.", panel=SET_UP, entries=SETUP
    ),
}
# Command names of earlier versions, with the commands that replaced them.
MOVED = {
    "solve": "run --no-report",
    "suite": "list --summary",
    **{name: f"analyse {name}" for name in ("agreement", "familiarity", "published")},
    **{name: f"task {name}" for name in TASK},
    **{name: f"setup {name}" for name in SETUP},
}


class _Commands(LazyGroup):
    """The top-level commands."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(COMMANDS, **attributes)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        if args[0] in MOVED and not ctx.resilient_parsing:
            raise UsageError(f"{args[0]!r} is now {MOVED[args[0]]!r}")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Measure whether language models and agents can reproduce the key functions of NLP papers.\n\n"
    "A task is a repository in which a function is masked. A solver fills it in; lmrbench runs the answer in a sandbox "
    "and compares its results with those of the reference.",
    rich_markup_mode="rich",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"lmrbench {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    quiet: Annotated[bool, Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Apply the options that all commands share."""
    if quiet:
        be_quiet()


def main() -> None:
    """Run the command line. Errors of lmrbench and of the operating system are printed on standard error."""
    replace_what_cannot_be_printed()
    signal.signal(signal.SIGINT, raise_interrupted)
    signal.signal(signal.SIGTERM, raise_interrupted)
    try:
        app()
    except LmrbenchError as error:
        warn(str(error))
        sys.exit(error.exit_code)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        warn(f"{place}{error.strerror or error}")
        sys.exit(3)
    except Interrupted:
        print("lmrbench: interrupted", file=sys.stderr)
        sys.exit(130)
