"""The command line: one file a command, and nothing heavy imported before the command that needs it runs.

Exit codes: 0 done, 1 done and the answer is no (a built-in system was graded otherwise than it must be, a
task falls short, no sandbox works), 2 the input is wrong or a provider or an agent's program failed, 3 this machine
can't do it, 130 interrupted.
"""

from __future__ import annotations

import signal
import sys

import typer

from lmrbench.cli import adversary, audit, collect, doctor, export, grade, list_tasks, mask, new, papers, show, solve
from lmrbench.cli.interrupt import Interrupted, raise_interrupted
from lmrbench.cli.terminal import warn
from lmrbench.errors import LmrbenchError, SandboxError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Can language models and agents reproduce the key functions of NLP papers?\n\n"
    "A task is a repository in which a function is masked. [bold]export[/] writes what a solver sees, "
    "[bold]collect[/] takes in what came of it, [bold]grade[/] runs it in a sandbox and compares what it returns "
    "with what the reference returns.",
    rich_markup_mode="rich",
)
app.command("list")(list_tasks.list_tasks)
app.command("show")(show.show)
app.command("export")(export.export)
app.command("collect")(collect.collect)
app.command("grade")(grade.grade)
app.command("solve")(solve.solve)
app.command("run")(solve.run)
app.add_typer(papers.app, name="papers")
app.command("new")(new.new)
app.command("mask")(mask.mask)
app.command("audit")(audit.audit)
app.command("accept")(adversary.accept)
app.command("doctor")(doctor.doctor)


def main() -> None:
    """Run the command line; an error of ours, or of the operating system, is a message and not a traceback."""
    signal.signal(signal.SIGINT, raise_interrupted)
    signal.signal(signal.SIGTERM, raise_interrupted)
    try:
        app()
    except LmrbenchError as error:
        warn(str(error))
        sys.exit(3 if isinstance(error, SandboxError) else 2)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        warn(f"{place}{error.strerror or error}")
        sys.exit(3)
    except Interrupted:
        print("lmrbench: interrupted", file=sys.stderr)
        sys.exit(130)
