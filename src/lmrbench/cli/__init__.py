"""The command line: one file per command, and nothing heavy imported before the command that needs it runs.

Exit codes say whose fault it is: 0 done, 1 done and the answer is no (a built-in system was graded otherwise than it
must be, a task falls short, no sandbox works), 2 the command or what it was given is wrong, 3 this machine can't do it,
4 a provider or an agent's program failed, 130 interrupted.
"""

from __future__ import annotations

import signal
import sys
from typing import Annotated

import typer

from lmrbench.cli import (
    adversary,
    agreement,
    analyse,
    annotate,
    audit,
    collect,
    doctor,
    env,
    export,
    familiarity,
    fetch,
    forge,
    grade,
    images,
    import_,
    judge,
    labels,
    list_tasks,
    mask,
    new,
    papers,
    published,
    report,
    results,
    show,
    site,
    solve,
    submit,
    suite,
    view,
    why,
)
from lmrbench.cli.interrupt import Interrupted, raise_interrupted
from lmrbench.cli.terminal import replace_what_cannot_be_printed, warn
from lmrbench.errors import LmrbenchError
from lmrbench.progress import be_quiet
from lmrbench.version import __version__

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Can language models and agents reproduce the key functions of NLP papers?\n\n"
    "A task is a repository in which a function is masked. **export** writes what a solver sees, "
    "**collect** takes in what came of it, **grade** runs it in a sandbox and compares what it returns "
    "with what the reference returns.",
    rich_markup_mode="markdown",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"lmrbench {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Options of all commands."""
    if quiet:
        be_quiet()


app.command("list")(list_tasks.list_tasks)
app.command("suite")(suite.suite)
app.command("show")(show.show)
app.command("fetch")(fetch.fetch)
app.add_typer(env.app, name="env")
app.add_typer(images.app, name="images")
app.command("export")(export.export)
app.command("collect")(collect.collect)
app.command("grade")(grade.grade)
app.command("solve")(solve.solve)
app.command("run")(solve.run)
app.command("report")(report.report)
app.command("familiarity")(familiarity.familiarity)
app.command("results")(results.results)
app.command("forge")(forge.forge)
app.add_typer(analyse.app, name="analyse")
app.command("published")(published.published)
app.command("judge")(judge.judge)
app.command("view")(view.view)
app.command("site")(site.site)
app.command("submit")(submit.submit)
app.command("verify")(submit.verify)
app.command("why")(why.why)
app.command("annotate")(annotate.annotate)
app.add_typer(labels.app, name="labels")
app.command("agreement")(agreement.agreement)
app.add_typer(papers.app, name="papers")
app.command("new")(new.new)
app.command("import")(import_.import_)
app.command("mask")(mask.mask)
app.command("audit")(audit.audit)
app.command("accept")(adversary.accept)
app.command("doctor")(doctor.doctor)


def main() -> None:
    """Run the command line; an error of ours, or of the operating system, is a message and not a traceback."""
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
