"""Sheets that annotators fill in, without a word of whose answer it is, and the key that says it.

A sheet is CSV, for spreadsheets, or JSON lines; its suffix says which. An item has an opaque name; names and order are
drawn from a seed and the answers, so another export has other names, and a key does not fit the wrong sheet. Reading is
strict: either every row that is filled in becomes a label, or there is a list of all that is wrong and no label.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from lmrbench.errors import RecordError, UsageError
from lmrbench.files import PRIVATE, write_whole
from lmrbench.jsonl import read_submitted_lines
from lmrbench.judging.labels import ADJUDICATED
from lmrbench.records import StoredRecord
from lmrbench.runs.records import CATEGORIES, ERROR_CLASSES, Category, ErrorClass, Label
from lmrbench.tasks.submission import Answer

COLUMNS = ("item", "task", "annotator", "category", "error_class", "reason", "seconds")
# What an annotator writes; a row in which all of these are empty is not filled in yet.
FILLED_IN = ("category", "error_class", "reason", "seconds")


class BlindedItem(StoredRecord):
    """A line of a key: which answer an item is."""

    item: str
    system: str
    task: str
    sample: int


class Filled(NamedTuple):
    """What somebody filled in for one item."""

    category: Category
    error_class: ErrorClass | None
    reason: str
    seconds: float | None


class Row(NamedTuple):
    """A row of a sheet. place: its file and line. cells: by column, without spaces around them."""

    place: str
    cells: Mapping[str, str]


def blinded(answers: Iterable[Answer], seed: int) -> dict[str, Answer]:
    """Answers by opaque names, in random order. The same answers and seed give the same names and order."""
    order = sorted(answers)
    generator = random.Random(f"{seed} {order}")
    generator.shuffle(order)
    names: dict[str, Answer] = {}
    for answer in order:
        # A word, so that no spreadsheet takes it for a number.
        while (name := f"item-{generator.getrandbits(32):08x}") in names:
            pass
        names[name] = answer
    return names


def write_key(file: Path, names: Mapping[str, Answer]) -> None:
    """Write the key, for nobody but its owner to read."""
    records = (BlindedItem(item=name, **answer._asdict()) for name, answer in names.items())
    write_whole(file, "".join(record.model_dump_json() + "\n" for record in records).encode(), PRIVATE)


def read_keys(files: Iterable[Path]) -> dict[str, Answer]:
    """The answers that the items of some keys are, by their names. Raises RecordError for what is no key."""
    found = [item for file in files for item in read_submitted_lines(file, BlindedItem)]
    return {item.item: Answer(item.system, item.task, item.sample) for item in found}


def write_sheet(file: Path, rows: Sequence[Mapping[str, str]], replace: bool = False) -> None:
    """Write a sheet to fill in; cells that a row does not name are empty, and columns of its own come last.

    replace: whether to replace a file that exists. Raises UsageError for a suffix other than .csv and .jsonl, and for a
    file that exists and is not to be replaced: it may be filled in.
    """
    check_suffix(file)
    if file.exists() and not replace:
        raise UsageError(f"{file}: is there already, and may be filled in; name another file")
    columns = list(dict.fromkeys([*COLUMNS, *(name for row in rows for name in row)]))
    complete = [{name: row.get(name, "") for name in columns} for row in rows]
    text = io.StringIO()
    if file.suffix == ".jsonl":
        text.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in complete)
        write_whole(file, text.getvalue().encode())
        return
    writer = csv.DictWriter(text, columns)
    writer.writeheader()
    writer.writerows(complete)
    # By this mark spreadsheets know that a file is UTF-8, and keep it so.
    write_whole(file, codecs.BOM_UTF8 + text.getvalue().encode())


def check_suffix(file: Path) -> None:
    """Raises UsageError for the name of a file that can't be a sheet."""
    if file.suffix not in (".csv", ".jsonl"):
        raise UsageError(f"{file}: a sheet is a .csv or a .jsonl file")


def read_scale(text: str) -> dict[str, Category]:
    """What `0=LI,1=LC,2=CC` says. Raises UsageError for a text of another form."""
    found: dict[str, Category] = {}
    for part in text.split(","):
        value, _, name = part.partition("=")
        category = _category(name, {})
        if category is None or not value.strip() or _plain(value) in found:
            raise UsageError(f"--scale {text}: must be of the form 0=LI,1=LC,2=CC, with each value once")
        found[_plain(value)] = category
    return found


def read_sheets(
    files: Iterable[Path], key: Mapping[str, Answer], scale: Mapping[str, Category] | None = None
) -> tuple[list[Label], int]:
    """The labels of filled sheets, and how many rows are not filled in.

    Args:
        files: CSV or JSON lines in UTF-8, with a byte order mark or without; cells of CSV are separated by commas,
            semicolons or tabs. Columns other than `COLUMNS` are ignored.
        key: the answers that the items are, by name.
        scale: what stands for which category, besides CC, LC and LI themselves.

    Raises:
        RecordError: some rows can't be used. It names each, with file, line and column.
        UsageError: a file is neither .csv nor .jsonl.
    """
    problems: list[str] = []
    rows: list[Row] = []
    for file in files:
        try:
            rows += _rows(file)
        except RecordError as error:
            problems.append(str(error))
    filled = [row for row in rows if any(row.cells[name] for name in FILLED_IN)]
    shifted = {} if scale else _shifted(filled)
    problems += shifted.values()
    labels: dict[tuple[str, Answer], tuple[Label, str]] = {}
    for row in filled:
        label, wrong = _label(row, key, scale or {}, row.cells["annotator"] in shifted)
        if label is not None:
            _, place = labels.setdefault((label.annotator, label.answer), (label, row.place))
            if place != row.place:
                wrong.append(("item", f"{label.annotator} labels {row.cells['item']} twice, before in {place}"))
        problems += [f"{row.place}: {column}: {message}" for column, message in wrong]
    if problems:
        raise RecordError("these sheets can't be taken:\n" + "\n".join(problems))
    return [label for label, _ in labels.values()], len(rows) - len(filled)


def _rows(file: Path) -> list[Row]:
    check_suffix(file)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise RecordError(f"{file}: {error.strerror}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise RecordError(f"{file}:{line}: is not UTF-8; save the sheet as UTF-8") from error
    if not text.strip():
        raise RecordError(f"{file}: is empty")
    found = []
    for line, cells in (_json_rows if file.suffix == ".jsonl" else _csv_rows)(text, file):
        if lacking := [name for name in COLUMNS if name not in cells]:
            raise RecordError(f"{file}:{line}: there is no column {', '.join(lacking)}")
        found.append(Row(f"{file}:{line}", {name: cells[name].strip() for name in COLUMNS}))
    return found


def _csv_rows(text: str, file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    head = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count))
    columns: list[str] | None = None
    line = 1
    try:
        for cells in reader:
            if columns is None:
                columns = [name.strip() for name in cells]
                # Also of a sheet without rows.
                if lacking := [name for name in COLUMNS if name not in columns]:
                    raise RecordError(f"{file}:{line}: there is no column {', '.join(lacking)}")
            elif any(map(str.strip, cells)):
                if len(cells) > len(columns):
                    raise RecordError(f"{file}:{line}: has {len(cells)} cells, but there are {len(columns)} columns")
                # Some programs leave out empty cells at the end.
                yield line, dict(zip(columns, cells + [""] * (len(columns) - len(cells)), strict=True))
            # A cell may hold line breaks.
            line = reader.line_num + 1
    except csv.Error as error:
        raise RecordError(f"{file}:{line}: {error}") from error


def _json_rows(text: str, file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    for line, item in enumerate(text.split("\n"), 1):
        if not item.strip():
            continue
        try:
            row = json.loads(item)
        except (ValueError, RecursionError) as error:
            raise RecordError(f"{file}:{line}: is not JSON: {error}") from error
        if not isinstance(row, dict):
            raise RecordError(f"{file}:{line}: is not a JSON object")
        yield line, {name: "" if value is None else str(value) for name, value in row.items()}


def _label(
    row: Row, key: Mapping[str, Answer], scale: Mapping[str, Category], is_shifted: bool
) -> tuple[Label | None, list[tuple[str, str]]]:
    """The label of a row, if it is one, and what is wrong with it: columns and messages."""
    cells, wrong = row.cells, []
    answer, annotator = key.get(cells["item"]), cells["annotator"]
    if answer is None:
        wrong.append(("item", f"{cells['item']!r} is not in the key"))
    elif cells["task"] not in ("", answer.task):
        wrong.append(("task", f"is {cells['task']!r}, but {cells['item']} is of {answer.task!r}"))
    if not annotator:
        wrong.append(("annotator", "is missing"))
    elif annotator == ADJUDICATED:
        wrong.append(("annotator", f"nobody may be called {ADJUDICATED!r}"))
    filled, faults = filled_in(cells, scale)
    # A shifted scale is told of once, and not in each row.
    wrong += [fault for fault in faults if not (is_shifted and fault[0] == "category")]
    if wrong or answer is None or filled is None:
        return None, wrong
    return Label(**answer._asdict(), annotator=annotator, **filled._asdict()), wrong


def filled_in(
    cells: Mapping[str, str], scale: Mapping[str, Category] | None = None
) -> tuple[Filled | None, list[tuple[str, str]]]:
    """What the columns `FILLED_IN` say, if that is something, and what is wrong with it: columns and messages.

    scale: what stands for which category, besides CC, LC and LI themselves.
    """
    wrong = []
    category = _category(cells["category"], scale or {})
    if category is None:
        said = f"{cells['category']!r} is" if cells["category"] else "is missing, or"
        known = ", ".join([*CATEGORIES, *(scale or {})])
        wrong.append(("category", f"{said} not of the scale {known}"))
    if category not in (None, "CC") and not cells["reason"]:
        wrong.append(("reason", f"is missing; {category} needs one"))
    error_class = next((name for name in ERROR_CLASSES if name == cells["error_class"].lower()), None)
    if cells["error_class"] and error_class is None:
        wrong.append(("error_class", f"{cells['error_class']!r} is none of {', '.join(ERROR_CLASSES)}"))
    seconds = _number(cells["seconds"])
    if cells["seconds"] and (seconds is None or seconds < 0):
        wrong.append(("seconds", f"{cells['seconds']!r} is no number of seconds"))
    if wrong or category is None:
        return None, wrong
    return Filled(category, error_class, cells["reason"], seconds), wrong


def _shifted(rows: Iterable[Row]) -> dict[str, str]:
    """What to tell annotators who wrote nothing but numbers where a category belongs, by annotator."""
    said: dict[str, dict[str, str]] = {}
    for row in rows:
        if row.cells["category"]:
            said.setdefault(row.cells["annotator"], {}).setdefault(_plain(row.cells["category"]), row.place)
    found = {}
    for annotator, values in said.items():
        if all(_number(value) is not None for value in values):
            numbers = sorted(values, key=float)
            known = next((start for start in (0, 1) if {*numbers} <= {str(start + place) for place in range(3)}), None)
            start = 0 if known is None else known
            example = ",".join(f"{start + place}={name}" for place, name in enumerate(reversed(CATEGORIES)))
            found[annotator] = (
                f"{values[numbers[0]]}: category: {annotator or 'the annotator'} writes numbers "
                f"({', '.join(numbers)}) in place of {', '.join(CATEGORIES)}, which looks like a shifted scale; "
                f"say which number is which category, for example --scale {example}"
            )
    return found


def _category(text: str, scale: Mapping[str, Category]) -> Category | None:
    named = next((name for name in CATEGORIES if name == text.strip().upper()), None)
    return scale.get(_plain(text), named)


def _plain(text: str) -> str:
    """A value as a scale names it: spreadsheets may write 1 as 1.0."""
    number = _number(text)
    return text.strip() if number is None or number != int(number) else str(int(number))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def items_folder(sheet: Path, key: Path) -> Path:
    """Return the folder for the documents of a new sheet. Raises UsageError if it, the sheet or the key exists."""
    folder = sheet.with_name(f"{sheet.stem}-items")
    check_suffix(sheet)
    for path in (sheet, key, folder):
        if path.exists():
            raise UsageError(f"{path}: exists already and may be in use; name another file")
    return folder


def write_export(
    sheet: Path, key: Path, items: Mapping[str, Answer], documents: Mapping[str, str], annotator: str
) -> None:
    """Write the key of a blinded sheet, the documents that annotators read, and the sheet itself.

    Args:
        sheet: The sheet, which does not exist; the documents go to the folder of `items_folder`.
        key: The file that names whose answers the items are.
        items: Answers by opaque name.
        documents: Markdown by opaque name.
        annotator: The annotator's name, or "" to leave it to them.
    """
    folder = items_folder(sheet, key)
    write_key(key, items)
    folder.mkdir(parents=True)
    for name, text in documents.items():
        (folder / f"{name}.md").write_text(text, "utf-8")
    rows = [{"item": name, "task": answer.task, "annotator": annotator} for name, answer in items.items()]
    write_sheet(sheet, rows)


def write_disputed(sheet: Path, items: Mapping[str, Answer], labels: Mapping[Answer, Sequence[Label]]) -> None:
    """Write a sheet of disputed answers, with what was said of each, for a third person to fill in.

    Args:
        sheet: The sheet, which does not exist.
        items: Answers by opaque name, from the keys of all exports.
        labels: The labels of each disputed answer.
    """
    if sheet.exists():
        raise UsageError(f"{sheet}: exists already; name it with --decisions, or move it away")
    names = {answer: name for name, answer in items.items()}
    if unnamed := [answer for answer in labels if answer not in names]:
        raise UsageError(f"{unnamed[0]} is in no key; name the keys of all exports with --key")
    rows = []
    for answer, its in labels.items():
        said = "; ".join(sorted(f"{item.category} {item.reason}".strip() for item in its))
        rows.append({"item": names[answer], "task": answer.task, "said": said})
    write_sheet(sheet, sorted(rows, key=lambda row: row["item"]))
