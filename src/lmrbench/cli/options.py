"""Options that several commands share, and output as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from lmrbench.errors import UsageError
from lmrbench.sandbox.protocol import LOCAL, Executor
from lmrbench.tasks.model import Tier

ADVANCED = "Advanced"
SuiteOption = Annotated[
    Path | None,
    typer.Option(
        "--suite",
        metavar="SUITE",
        help="core (the default), real (tasks on published packages; see `lmrbench setup fetch`), all (both), or the "
        "folder of your own suite.",
    ),
]
PATTERN_HELP = "Task ids (dpo/preference_loss), papers (dpo), categories or globs; by default all tasks."
TasksOption = Annotated[
    list[str] | None, typer.Option("--task", "-t", metavar="TASK", help=f"{PATTERN_HELP} May be repeated.")
]
TierOption = Annotated[
    Tier,
    typer.Option("--tier", help="The tier of the tasks: function (the headline), method, forensic or twin."),
]
FreshOption = Annotated[
    int | None,
    typer.Option(
        "--fresh",
        metavar="SEED",
        min=0,
        max=2**31 - 1,
        help="With --tier forensic: draw tasks of 1, 3, 5 and 8 deviations from this seed, not the published ones.",
        rich_help_panel=ADVANCED,
    ),
]
SeedOption = Annotated[
    int | None,
    typer.Option("--seed", min=0, max=2**31 - 1, help="Draw the cases from this seed, not from this machine's own."),
]
SandboxOption = Annotated[
    str,
    typer.Option(
        "--sandbox",
        metavar="NAME",
        help="Where answers are graded: bubblewrap, docker, process (hides nothing; see docs/security.md), or a back "
        "end of another package.",
        rich_help_panel=ADVANCED,
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="Number of warm workers; by default one per core.", rich_help_panel=ADVANCED),
]
IsolateOption = Annotated[
    bool,
    typer.Option(
        "--isolate",
        help="Never run the code of two systems at the same time; see docs/security.md.",
        rich_help_panel=ADVANCED,
    ),
]
ExecutorOption = Annotated[
    str,
    typer.Option(
        "--executor",
        metavar="local|ray",
        help="Run answers on this machine, or on the nodes of a Ray cluster.",
        rich_help_panel=ADVANCED,
    ),
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="HOST:PORT",
        help="With --executor ray: the cluster; by default RAY_ADDRESS, or a cluster of this machine alone.",
        rich_help_panel=ADVANCED,
    ),
]
PricesOption = Annotated[
    Path | None,
    typer.Option("--prices", metavar="FILE", help="JSON: dollars per million tokens, by model."),
]
LabelFilesOption = Annotated[
    list[Path] | None,
    typer.Option("--labels", metavar="FILE", help="Labels of the answers, from `lmrbench labels`. May be repeated."),
]
RUNS_HELP = "Run folders of `lmrbench run` or `grade`, or folders that hold some."
RunsArgument = Annotated[list[Path], typer.Argument(metavar="RUN...", help=RUNS_HELP)]
PatternsArgument = Annotated[list[str] | None, typer.Argument(metavar="[TASK]...", help=PATTERN_HELP)]
PapersArgument = Annotated[list[str] | None, typer.Argument(metavar="[PAPER]...", help=PATTERN_HELP)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of a table.")]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print Markdown.")]


def executor_of(kind: str, address: str | None) -> Executor:
    """Return what --executor and --address ask for. Raises UsageError if they do not fit."""
    if kind == "ray":
        return Executor("ray", address)
    if kind != "local":
        raise UsageError(f"--executor {kind}: there are local and ray")
    if address is not None:
        raise UsageError("--address is for --executor ray")
    return LOCAL


def print_json(value: object) -> None:
    """Print a value as indented JSON on standard output."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    if not text.isascii() and (sys.stdout.encoding or "").lower().replace("-", "") != "utf8":
        text = json.dumps(value, indent=2)
    # json.dumps leaves some control characters as they are.
    print("".join(letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1] for letter in text))
