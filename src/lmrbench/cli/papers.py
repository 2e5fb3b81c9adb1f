"""`lmrbench papers`: the papers themselves, for who wants models to read more than the summaries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lmrbench.cli.options import PATTERN_HELP, JsonOption, SuiteOption, load_tasks, print_json
from lmrbench.cli.terminal import console, progress, say, warn
from lmrbench.report.render.tables import sheet, show

if TYPE_CHECKING:
    from lmrbench.tasks.model import Paper

app = typer.Typer(
    no_args_is_help=True, help="Fetch papers as PDF or LaTeX, add those that you have, and list what is here."
)


@app.command("list")
def list_papers(suite: SuiteOption = None, json: JsonOption = False) -> None:
    """List the suite's papers and what of each has been fetched."""
    from lmrbench.solving.papers import FETCHED, fetched

    found = {
        paper: {form: copy for form in FETCHED if (copy := fetched(paper, form))} for paper in _papers(suite, None)
    }
    if json:
        print_json(
            [
                {
                    "paper": paper.slug,
                    "url": str(paper.url),
                    **{form: copy.model_dump() for form, copy in copies.items()},
                }
                for paper, copies in found.items()
            ]
        )
        return
    rows = []
    for paper, copies in found.items():
        cells = [f"{copy.bytes >> 10} kB {copy.sha256[:12]}" if (copy := copies.get(form)) else "-" for form in FETCHED]
        rows.append((paper.slug, *cells, paper.title))
    show(sheet("", ("paper", *FETCHED, "title"), rows, spare=("title",)), console())


@app.command("fetch")
def fetch_papers(
    patterns: Annotated[list[str] | None, typer.Argument(metavar="[PAPER]...", help=PATTERN_HELP)] = None,
    form: Annotated[
        Literal["pdf", "latex"], typer.Option(help="latex is arXiv's source, in which formulas survive.")
    ] = "pdf",
    suite: SuiteOption = None,
) -> None:
    """Download papers into the cache, with their checksums. Papers that are there are kept.

    Exits with 1 if one could not be had.
    """
    from lmrbench.solving.papers import PaperError, fetch, fetched

    failed = 0
    papers = _papers(suite, patterns)
    with progress() as bars:
        for paper in bars.track(papers, description="papers"):
            if fetched(paper, form):
                say(f"{paper.slug}: is here")
                continue
            try:
                copy = fetch(paper, form)
                say(f"{paper.slug}: {copy.bytes:,} bytes from {copy.url}")
            except PaperError as error:
                warn(str(error))
                failed += 1
    if failed:
        raise typer.Exit(1)


@app.command("add")
def add_paper(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="The paper, by its short name.")],
    file: Annotated[Path, typer.Argument(help="Its PDF, or arXiv's LaTeX source as it was downloaded.")],
    suite: SuiteOption = None,
) -> None:
    """Take a paper from a file into the cache, in the place of a download."""
    from lmrbench.errors import UsageError
    from lmrbench.solving.papers import add

    papers = _papers(suite, [paper])
    if len(papers) != 1:
        raise UsageError(f"{paper!r} names {len(papers)} papers: {', '.join(item.slug for item in papers)}")
    form, copy = add(papers[0], file)
    say(f"{papers[0].slug}: {copy.bytes:,} bytes of {form} from {file}")


def _papers(suite: Path | None, patterns: list[str] | None) -> list[Paper]:
    return list(dict.fromkeys(task.paper for task in load_tasks(suite, patterns)))
