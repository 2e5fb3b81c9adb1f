"""`lmrbench labels`: what people say of answers, from blinded sheets to one verdict per answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench.cli.options import RunsArgument, SuiteOption, TasksOption, load_all_and_some, run_folders
from lmrbench.cli.terminal import progress, say
from lmrbench.text import counted

if TYPE_CHECKING:
    from lmrbench.tasks.model import Task
    from lmrbench.tasks.submission import Answer, Submission

app = typer.Typer(
    no_args_is_help=True,
    help="Have people label answers: export blinded sheets, import filled ones, merge and adjudicate them.",
)
KeysOption = Annotated[
    list[Path],
    typer.Option("--key", metavar="KEY", help="The key of the export; repeat it for several exports."),
]
LabelsOption = Annotated[Path, typer.Option("--out", metavar="FILE", help="The file of labels to write.")]


@app.command("export")
def export_sheet(
    runs: RunsArgument,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The sheet, .csv or .jsonl.")],
    key: Annotated[
        Path, typer.Option("--key", metavar="KEY", help="The file that says whose answers they are; keep it apart.")
    ],
    annotator: Annotated[str, typer.Option(metavar="NAME", help="Who will fill it in; may be left to them.")] = "",
    seed: Annotated[int, typer.Option(min=0, help="Of the order of the items, and of their names.")] = 0,
    task: TasksOption = None,
    suite: SuiteOption = None,
) -> None:
    """Write a sheet of answers to label, without systems and grades, and in random order.

    Beside it, in FILE-items/, stands what the annotator reads: one Markdown file per item with the instruction, the
    reference and the candidate.
    """
    from lmrbench.errors import UsageError
    from lmrbench.judging.documents import document
    from lmrbench.judging.sheets import blinded, check_suffix, write_key, write_sheet

    folder = out.with_name(f"{out.stem}-items")
    check_suffix(out)
    for path in (out, key, folder):
        if path.exists():
            raise UsageError(f"{path}: is there already, and may be in use; name another file")
    known, answers, chosen = answers_to_label(runs, suite, task)
    items = blinded(chosen, seed)
    with progress() as bars:
        documents = {
            name: document(name, known[answer.task], answers[answer])
            for name, answer in bars.track(items.items(), description="items")
        }
    write_key(key, items)
    folder.mkdir(parents=True)
    for name, text in documents.items():
        (folder / f"{name}.md").write_text(text, "utf-8")
    write_sheet(out, [{"item": name, "task": answer.task, "annotator": annotator} for name, answer in items.items()])
    where = f"{out} to fill in, {folder} to read; {key} says whose they are, keep it from annotators"
    say(f"{counted(len(items), 'item')}: {where}")


@app.command("import")
def import_sheets(
    sheets: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Filled sheets, .csv or .jsonl.")],
    key: KeysOption,
    out: LabelsOption,
    scale: Annotated[
        str, typer.Option(metavar="VALUES", help="What annotators wrote for each category, such as 0=LI,1=LC,2=CC.")
    ] = "",
) -> None:
    """Check filled sheets and write labels that name the systems again.

    Nothing is written if a row can't be used; all such rows are listed. Rows that are not filled in are left out.
    """
    from lmrbench.errors import UsageError
    from lmrbench.judging.labels import write_labels
    from lmrbench.judging.sheets import read_keys, read_scale, read_sheets

    if out.exists():
        raise UsageError(f"{out}: is there already; write to another file, and put both together with labels merge")
    labels, left = read_sheets(sheets, read_keys(key), read_scale(scale) if scale else None)
    if not labels:
        raise UsageError(f"{', '.join(map(str, sheets))}: nothing is filled in")
    write_labels(out, labels)
    say(f"{counted(len(labels), 'label')} in {out}" + (f"; {left} rows are not filled in" if left else ""))


@app.command("merge")
def merge(
    files: Annotated[list[Path], typer.Argument(metavar="LABELS...", help="Files of labels.")],
    out: LabelsOption,
) -> None:
    """Put several files of labels together. Labels that are equal are kept once; contradictions are an error."""
    from lmrbench.judging.labels import read_labels, write_labels

    labels = read_labels(files)
    write_labels(out, labels)
    annotators = {item.annotator for item in labels}
    say(f"{counted(len(labels), 'label')} of {counted(len(annotators), 'annotator')} in {out}")


@app.command("adjudicate")
def adjudicate(
    file: Annotated[Path, typer.Argument(metavar="LABELS", help="A file of labels, of all annotators.")],
    key: KeysOption,
    out: LabelsOption,
    decisions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The sheet of disputed items, as a third person filled it in.")
    ] = None,
) -> None:
    """Give each answer the category that most annotators chose.

    Answers without such a category, or called CC by one and LI by another, are disputed: they are written to a sheet,
    OUT-disputed.csv, for a third person, and taken in with --decisions.
    """
    from lmrbench.errors import UsageError
    from lmrbench.judging.labels import adjudicated, disputed, read_labels, write_labels
    from lmrbench.judging.sheets import read_keys, read_sheets, write_sheet

    if out.exists() and out.samefile(file):
        raise UsageError(f"{out}: holds the labels themselves; name another file with --out")
    labels, items = read_labels([file]), read_keys(key)
    open_ = disputed(labels)
    decided = read_sheets([decisions], items)[0] if decisions else []
    verdicts = adjudicated(labels, decided)
    left = len(open_) - len({item.answer for item in decided})
    sheet = decisions or out.with_name(f"{out.stem}-disputed.csv")
    if open_ and not decisions:
        if sheet.exists():
            raise UsageError(f"{sheet}: is there already; name it with --decisions, or move it away")
        names = {answer: name for name, answer in items.items()}
        if unnamed := [answer for answer in open_ if answer not in names]:
            raise UsageError(f"{unnamed[0]} is in no key; name the keys of all exports with --key")
        said = {
            answer: "; ".join(sorted(f"{item.category} {item.reason}".strip() for item in of_answer))
            for answer, of_answer in open_.items()
        }
        rows = [{"item": names[answer], "task": answer.task, "said": said[answer]} for answer in open_]
        write_sheet(sheet, sorted(rows, key=lambda row: row["item"]))
    write_labels(out, verdicts)
    say(f"{counted(len(verdicts), 'verdict')} in {out}")
    if left:
        say(f"{left} disputed answers have none: have a third person fill in {sheet}, and name it with --decisions")


def answers_to_label(
    runs: list[Path], suite: Path | None, patterns: list[str] | None
) -> tuple[dict[str, Task], dict[Answer, Submission], list[Answer]]:
    """The tasks of a suite by id, the answers of runs, and those of these that are of the tasks which patterns name.

    Raises UsageError for a task that the suite lacks, and where there is nothing to label.
    """
    from lmrbench.errors import UsageError

    every_task, named = load_all_and_some(suite, patterns)
    known, names = {item.id: item for item in every_task}, {item.id for item in named}
    answers = _answers(runs)
    if unknown := sorted({answer.task for answer in answers} - known.keys()):
        raise UsageError(f"there is no task {unknown[0]!r} in this suite; name the suite of the run with --suite")
    chosen = [answer for answer in answers if answer.task in names]
    if not chosen:
        raise UsageError(f"{', '.join(map(str, runs))}: no answers to label")
    return known, answers, chosen


def _answers(runs: list[Path]) -> dict[Answer, Submission]:
    """The answers of runs, without those that the machinery left unanswered."""
    from lmrbench.errors import UsageError
    from lmrbench.runs.folder import read_run
    from lmrbench.tasks.submission import Answer

    found: dict[Answer, Submission] = {}
    for folder in run_folders(runs):
        run = read_run(folder)
        unanswered = {(item.system, item.task, item.sample) for item in run.unanswered}
        for item in run.submissions:
            answer = Answer(item.system, item.task, item.sample)
            if answer in found:
                raise UsageError(f"{folder}: {answer} is in another run, too; export one of them")
            if answer not in unanswered:
                found[answer] = item
    return found
