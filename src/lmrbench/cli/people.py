"""`lmrbench annotate` and `lmrbench labels`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from lmrbench.cli import options
from lmrbench.cli.grading import select
from lmrbench.cli.lazy import group
from lmrbench.cli.terminal import say, warn
from lmrbench.errors import UsageError
from lmrbench.judging.adjudication import adjudicate_file
from lmrbench.judging.answers import answers_to_label
from lmrbench.judging.documents import documents
from lmrbench.judging.labels import read_labels, write_labels
from lmrbench.judging.sheets import blinded, items_folder, read_keys, read_scale, read_sheets, write_export
from lmrbench.progress import progress_bars
from lmrbench.runs.places import run_folders
from lmrbench.text import counted

labels = group("Have people label answers in sheets; merge and adjudicate labels.")
KeysOption = Annotated[list[Path], Option("--key", metavar="KEY", help="The key file of an export. May be repeated.")]
LabelsOption = Annotated[Path, Option("--out", metavar="FILE", help="The file of labels to write.")]


def annotate(
    runs: options.Runs,
    annotator: Annotated[
        list[str], Option("--annotator", metavar="NAME", help="The name of an annotator. May be repeated.")
    ],
    overlap: Annotated[int, Option(min=1, help="Number of annotators that label each answer.")] = 1,
    seed: Annotated[int, Option(min=0, help="Random seed for the order of the annotators' queues.")] = 0,
    task: options.Tasks = None,
    calibration: Annotated[
        Path | None, Option(metavar="FILE", help="JSON Lines file of answers with known categories, to label first.")
    ] = None,
    to: Annotated[Path, Option("--to", metavar="DIR", help="The folder for labels and progress.")] = Path("annotation"),
    host: Annotated[
        str,
        Option(
            help="The address to listen on. The server has no TLS, and its traffic contains links and labels. Unless "
            "it listens on loopback, put it behind a proxy with TLS."
        ),
    ] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="The port to listen on; 0 for any free port.")] = 7576,
    suite: options.Suite = None,
) -> None:
    """Have people label answers in a browser.

    Answers are blinded, and each annotator has a personal link and queue. The person who leads the annotation has
    another link, to see progress and agreement and to settle disagreements. Labels are stored at once in
    DIR/labels.jsonl, for `lmrbench labels`, `analyse agreement`, `report` and `view --labels`. Ctrl-C stops the server;
    run the command again to resume.
    """
    from lmrbench.web.annotation.app import application
    from lmrbench.web.annotation.opening import open_annotation
    from lmrbench.web.annotation.queues import check_annotators
    from lmrbench.web.annotation.store import LEAD
    from lmrbench.web.serving import listening, serve

    check_annotators(annotator, overlap)
    tasks = select(suite, task)
    opened = open_annotation(to, run_folders(runs), tasks, annotator, overlap, seed, calibration)
    with opened as annotation, listening(host, port) as server:
        if server.names == ["*"]:
            warn("this server has no TLS, so its traffic reveals the links below, and anyone with a link can label")
        known = sum(item.known is not None for item in annotation.items.values())
        counts = f"{counted(len(annotation.items) - known, 'answer')}, {counted(known, 'calibration item')}"
        say(f"{server.address}: {counts}, in {to}")
        say("Give each annotator only their own link. Ctrl-C stops the server; run the same command to resume.")
        for name, token in annotation.store.tokens().items():
            say(f"{'the lead' if name == LEAD else name}: {server.address}/enter/{token}")
        serve(application(annotation, server.names), server)


@labels.command("export")
def export_sheet(
    runs: options.Runs,
    out: Annotated[Path, Option("--out", metavar="FILE", help="The sheet, .csv or .jsonl.")],
    key: Annotated[
        Path, Option("--key", metavar="KEY", help="The file that maps items to systems. Annotators must not see it.")
    ],
    annotator: Annotated[str, Option(metavar="NAME", help="The annotator's name; by default left blank.")] = "",
    seed: Annotated[int, Option(min=0, help="Random seed for item order and item names.")] = 0,
    task: options.Tasks = None,
    suite: options.Suite = None,
) -> None:
    """Write a sheet of answers to label, in random order, without system names or grades.

    A folder beside the sheet, with -items at the end of its name, contains a Markdown file to read for each item, with
    the instruction, the reference and the candidate.
    """
    folder = items_folder(out, key)
    selection = select(suite, task)
    known = selection.by_id
    answers, chosen = answers_to_label(run_folders(runs), known, selection.names)
    items = blinded(chosen, seed)
    with progress_bars() as bars:
        texts = dict(bars.track(documents(items, known, answers), len(items), description="items"))
    write_export(out, key, items, texts, annotator)
    where = f"{out} to fill in, {folder} to read; do not show {key} to annotators, because it maps items to systems"
    say(f"{counted(len(items), 'item')}: {where}")


@labels.command("import")
def import_sheets(
    sheets: Annotated[list[Path], Argument(metavar="FILE...", help="Filled sheets, .csv or .jsonl.")],
    key: KeysOption,
    out: LabelsOption,
    scale: Annotated[
        str, Option(metavar="VALUES", help="How to read values other than CC, LC and LI, such as 0=LI,1=LC,2=CC.")
    ] = "",
) -> None:
    """Check filled sheets and write labels with the names of the systems.

    If any rows are invalid, they are listed and nothing is written. Rows that are not filled in are left out.
    """
    if out.exists():
        raise UsageError(f"{out} exists already; write to another file, and combine both with `lmrbench labels merge`")
    found, left = read_sheets(sheets, read_keys(key), read_scale(scale) if scale else None)
    if not found:
        raise UsageError(f"{', '.join(map(str, sheets))}: nothing is filled in")
    write_labels(out, found)
    say(f"{counted(len(found), 'label')} in {out}" + (f"; not filled in: {counted(left, 'row')}" if left else ""))


@labels.command("merge")
def merge(
    files: Annotated[list[Path], Argument(metavar="LABELS...", help="Files of labels.")], out: LabelsOption
) -> None:
    """Merge several files of labels. Equal labels are kept once; contradictions are an error."""
    found = read_labels(files)
    write_labels(out, found)
    annotators = {item.annotator for item in found}
    say(f"{counted(len(found), 'label')} of {counted(len(annotators), 'annotator')} in {out}")


@labels.command("adjudicate")
def adjudicate(
    file: Annotated[Path, Argument(metavar="LABELS", help="A file with the labels of all annotators.")],
    key: KeysOption,
    out: LabelsOption,
    decisions: Annotated[
        Path | None, Option(metavar="FILE", help="The sheet of disputed answers that a third person filled in.")
    ] = None,
) -> None:
    """Give each answer the category that more than half of its annotators chose.

    Answers without such a category, and answers that one annotator calls CC and another LI, are disputed. They are
    written to a sheet beside the --out file, with -disputed.csv at the end of its name. Have a third person fill it in,
    and pass it with --decisions.
    """
    found = adjudicate_file(file, key, out, decisions)
    say(f"{counted(found.verdicts, 'adjudicated label')} in {out}")
    if left := found.undecided:
        sheet = found.sheet
        say(
            f"undecided: {counted(left, 'disputed answer')}; "
            f"have a third person fill in {sheet} and pass it with --decisions"
        )
