"""Options that several commands share."""

from __future__ import annotations

from datetime import date
from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from lmrbench.errors import UsageError
from lmrbench.tasks.dates import first_day
from lmrbench.tasks.model import Tier

ADVANCED = "Advanced"
# An option that the help lists under "Advanced".
advanced = partial(Option, rich_help_panel=ADVANCED)
Suite = Annotated[
    Path | None,
    Option(
        "--suite",
        metavar="SUITE",
        help="core (the default), real (tasks on published packages; see `lmrbench setup fetch`), live (the same, for "
        "methods released in 2026), all (these three), or the folder of your own suite.",
    ),
]
PATTERN_HELP = "Task ids (dpo/preference_loss), papers (dpo), categories or globs; by default all tasks."
Tasks = Annotated[list[str] | None, Option("--task", "-t", metavar="TASK", help=f"{PATTERN_HELP} May be repeated.")]
TierName = Annotated[Tier, Option("--tier", help="Tier of the tasks: function (the headline), method, forensic, twin.")]
Fresh = Annotated[
    int | None,
    advanced(
        "--fresh",
        metavar="SEED",
        min=0,
        max=2**31 - 1,
        help="With --tier forensic: draw new tasks, each with 1 to 12 changes, from this seed; use no published ones.",
    ),
]
Seed = Annotated[
    int | None,
    Option(
        "--seed",
        min=0,
        max=2**31 - 1,
        help="Random seed of the cases; by default a secret seed that is drawn once for this machine.",
    ),
]
Sandbox = Annotated[
    str,
    advanced(
        "--sandbox",
        metavar="NAME",
        help="The sandbox to grade in. auto takes the first of bubblewrap, landlock and docker that works; process "
        "does not isolate (docs/security.md). `lmrbench setup doctor` lists all sandboxes.",
    ),
]
Workers = Annotated[int | None, advanced("--workers", min=1, help="Number of warm workers; by default one per core.")]
Isolate = Annotated[
    bool, advanced("--isolate", help="Never run the code of two systems at once; see docs/security.md.")
]
ExecutorName = Annotated[
    str,
    advanced("--executor", metavar="local|ray", help="Run answers on this machine, or on the nodes of a Ray cluster."),
]
Address = Annotated[
    str | None,
    advanced(
        "--address", metavar="HOST:PORT", help="The Ray cluster; by default RAY_ADDRESS, or else a new local one."
    ),
]
Prices = Annotated[
    Path | None, Option("--prices", metavar="FILE", help="JSON file of prices by model, in dollars per million tokens.")
]
LabelFiles = Annotated[
    list[Path] | None, Option("--labels", metavar="FILE", help="Labels of answers, from `lmrbench labels`; repeatable.")
]
RUNS_HELP = "Run folders of `lmrbench run` or `grade`, or folders that contain run folders."
Runs = Annotated[list[Path], Argument(metavar="RUN...", help=RUNS_HELP)]
Patterns = Annotated[list[str] | None, Argument(metavar="[TASK]...", help=PATTERN_HELP)]
Papers = Annotated[list[str] | None, Argument(metavar="[PAPER]...", help=PATTERN_HELP)]
Json = Annotated[bool, Option("--json", help="Print JSON on standard output instead of a table.")]
Markdown = Annotated[bool, Option("--markdown", help="Print Markdown.")]


def day(text: str, option: str) -> date:
    """Parse the date in an option. A month without a day becomes its first day.

    Raises:
        UsageError: The text is not a date.
    """
    try:
        return first_day(text)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from error
