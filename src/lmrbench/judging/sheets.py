"""Blinded sheets that annotators fill in, and the key that maps their items to answers.

A sheet is a CSV file for spreadsheets or a JSON Lines file, depending on its suffix. It lists answers as items with
opaque names, and does not reveal which system wrote an answer. Names and order depend on a seed and on the answers, so
that the key of one export can't be used with the sheet of another. Reading is strict: either every row that is filled
in becomes a label, or a RecordError lists all mistakes.
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
# The columns that the annotator fills in. A row in which all of these are empty counts as not filled in yet.
FILLED_IN = ("category", "error_class", "reason", "seconds")


class BlindedItem(StoredRecord):
    """A line of a key: the opaque name of an item, and the system, task and sample of the answer that it stands for."""

    item: str
    system: str
    task: str
    sample: int


class Filled(NamedTuple):
    """The entries of an annotator for one item, after validation."""

    category: Category
    error_class: ErrorClass | None
    reason: str
    seconds: float | None


class SheetRow(NamedTuple):
    """A row of a sheet.

    Attributes:
        place: File and line, for messages.
        cells: The cells by column, without surrounding white space.
    """

    place: str
    cells: Mapping[str, str]


def blinded(answers: Iterable[Answer], seed: int) -> dict[str, Answer]:
    """Assign opaque names to answers, in random order. The same answers and seed give the same names and order.

    Args:
        answers: The answers to name.
        seed: The random seed.
    """
    order = sorted(answers)
    generator = random.Random(f"{seed} {order}")
    generator.shuffle(order)
    names: dict[str, Answer] = {}
    for answer in order:
        # The prefix keeps spreadsheets from reading a name as a number.
        while (name := f"item-{generator.getrandbits(32):08x}") in names:
            pass
        names[name] = answer
    return names


def write_key(file: Path, names: Mapping[str, Answer]) -> None:
    """Write a key to a file that only its owner can read."""
    records = (BlindedItem(item=name, **answer._asdict()) for name, answer in names.items())
    write_whole(file, "".join(record.model_dump_json() + "\n" for record in records).encode(), PRIVATE)


def read_keys(files: Iterable[Path]) -> dict[str, Answer]:
    """Read the keys of exported sheets.

    Returns:
        The answers by item name.

    Raises:
        RecordError: A file is not a key.
    """
    found = [item for file in files for item in read_submitted_lines(file, BlindedItem)]
    return {item.item: Answer(item.system, item.task, item.sample) for item in found}


def write_sheet(file: Path, rows: Sequence[Mapping[str, str]], replace: bool = False) -> None:
    """Write a sheet to fill in.

    Args:
        file: The sheet, with the suffix .csv or .jsonl.
        rows: The cells of each row, by column. Missing cells are left empty; further columns come after `COLUMNS`.
        replace: Whether to overwrite an existing file.

    Raises:
        UsageError: The suffix is not .csv or .jsonl, or the file exists and `replace` is false.
    """
    check_suffix(file)
    if file.exists() and not replace:
        raise UsageError(f"{file} already exists and may be filled in; name another file")
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
    # Spreadsheets recognize UTF-8 by the byte order mark.
    write_whole(file, codecs.BOM_UTF8 + text.getvalue().encode())


def check_suffix(file: Path) -> None:
    """Raise UsageError unless a file name has the suffix of a sheet."""
    if file.suffix not in (".csv", ".jsonl"):
        raise UsageError(f"{file}: a sheet must be a .csv or .jsonl file")


def read_scale(text: str) -> dict[str, Category]:
    """Parse a scale such as `0=LI,1=LC,2=CC` into a mapping from values to categories.

    Raises:
        UsageError: The text is malformed, or a value occurs twice.
    """
    found: dict[str, Category] = {}
    for part in text.split(","):
        value, _, name = part.partition("=")
        category = _category(name, {})
        if category is None or not value.strip() or _plain(value) in found:
            raise UsageError(f"--scale {text}: expected the form 0=LI,1=LC,2=CC, with each value once")
        found[_plain(value)] = category
    return found


def read_sheets(
    files: Iterable[Path], key: Mapping[str, Answer], scale: Mapping[str, Category] | None = None
) -> tuple[list[Label], int]:
    """Read the labels in filled sheets.

    Args:
        files: Sheets in UTF-8, with or without a byte order mark. The cells of a CSV file may be separated by commas,
            semicolons or tabs. Columns other than `COLUMNS` are ignored.
        key: The answers by item name.
        scale: Values that stand for categories, in addition to CC, LC and LI.

    Returns:
        The labels, and the number of rows that are not filled in yet.

    Raises:
        RecordError: Rows are invalid; the message lists the file, line and column of each mistake.
        UsageError: A file is neither .csv nor .jsonl.
    """
    problems: list[str] = []
    rows: list[SheetRow] = []
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
                wrong.append(("item", f"{label.annotator} labels {row.cells['item']} twice; first in {place}"))
        problems += [f"{row.place}: {column}: {message}" for column, message in wrong]
    if problems:
        raise RecordError("the sheets have errors:\n" + "\n".join(problems))
    return [label for label, _ in labels.values()], len(rows) - len(filled)


def _rows(file: Path) -> list[SheetRow]:
    check_suffix(file)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise RecordError(f"{file}: {error.strerror}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise RecordError(f"{file}:{line}: not valid UTF-8; save the sheet as UTF-8") from error
    if not text.strip():
        raise RecordError(f"{file} is empty")
    found = []
    for line, cells in (_json_rows if file.suffix == ".jsonl" else _csv_rows)(text, file):
        if lacking := [name for name in COLUMNS if name not in cells]:
            raise RecordError(f"{file}:{line}: missing columns: {', '.join(lacking)}")
        found.append(SheetRow(f"{file}:{line}", {name: cells[name].strip() for name in COLUMNS}))
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
                # Check the columns here as well, because a sheet may have no rows.
                if lacking := [name for name in COLUMNS if name not in columns]:
                    raise RecordError(f"{file}:{line}: missing columns: {', '.join(lacking)}")
            elif any(map(str.strip, cells)):
                if len(cells) > len(columns):
                    raise RecordError(f"{file}:{line}: found {len(cells)} cells, but there are {len(columns)} columns")
                # Some programs omit empty cells at the end of a row.
                yield line, dict(zip(columns, cells + [""] * (len(columns) - len(cells)), strict=True))
            # A cell may contain line breaks, so a row may span several lines.
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
            raise RecordError(f"{file}:{line}: not valid JSON: {error}") from error
        if not isinstance(row, dict):
            raise RecordError(f"{file}:{line}: not a JSON object")
        yield line, {name: "" if value is None else str(value) for name, value in row.items()}


def _label(
    row: SheetRow, key: Mapping[str, Answer], scale: Mapping[str, Category], is_shifted: bool
) -> tuple[Label | None, list[tuple[str, str]]]:
    """Return the label of a row, or None if the row is invalid, and its mistakes as pairs of column and message."""
    cells, wrong = row.cells, []
    answer, annotator = key.get(cells["item"]), cells["annotator"]
    if answer is None:
        wrong.append(("item", f"{cells['item']!r} is not in the key"))
    elif cells["task"] not in ("", answer.task):
        wrong.append(("task", f"found {cells['task']!r}, but {cells['item']} belongs to {answer.task!r}"))
    if not annotator:
        wrong.append(("annotator", "missing"))
    elif annotator == ADJUDICATED:
        wrong.append(("annotator", f"{ADJUDICATED!r} is reserved; use another name"))
    filled, faults = filled_in(cells, scale)
    # Numbers in place of categories are reported once for each annotator, not in every row.
    wrong += [fault for fault in faults if not (is_shifted and fault[0] == "category")]
    if wrong or answer is None or filled is None:
        return None, wrong
    return Label(**answer._asdict(), annotator=annotator, **filled._asdict()), wrong


def filled_in(
    cells: Mapping[str, str], scale: Mapping[str, Category] | None = None
) -> tuple[Filled | None, list[tuple[str, str]]]:
    """Validate the columns `FILLED_IN` of a row.

    Args:
        cells: The cells by column.
        scale: Values that stand for categories, in addition to CC, LC and LI.

    Returns:
        The entries, or None if they are invalid, and the mistakes as pairs of column and message.
    """
    wrong = []
    category = _category(cells["category"], scale or {})
    if category is None:
        said = f"{cells['category']!r} is not" if cells["category"] else "missing; expected a value"
        known = ", ".join([*CATEGORIES, *(scale or {})])
        wrong.append(("category", f"{said} on the scale {known}"))
    if category not in (None, "CC") and not cells["reason"]:
        wrong.append(("reason", f"missing; {category} needs a reason"))
    error_class = next((name for name in ERROR_CLASSES if name == cells["error_class"].lower()), None)
    if cells["error_class"] and error_class is None:
        wrong.append(("error_class", f"{cells['error_class']!r} is not one of {', '.join(ERROR_CLASSES)}"))
    seconds = _number(cells["seconds"])
    if cells["seconds"] and (seconds is None or seconds < 0):
        wrong.append(("seconds", f"{cells['seconds']!r} is not a number of seconds"))
    if wrong or category is None:
        return None, wrong
    return Filled(category, error_class, cells["reason"], seconds), wrong


def _shifted(rows: Iterable[SheetRow]) -> dict[str, str]:
    """Return error messages, by annotator, for the annotators who wrote only numbers in the category column."""
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
                f"({', '.join(numbers)}) instead of {', '.join(CATEGORIES)}; "
                f"specify the category of each number, for example with --scale {example}"
            )
    return found


def _category(text: str, scale: Mapping[str, Category]) -> Category | None:
    named = next((name for name in CATEGORIES if name == text.strip().upper()), None)
    return scale.get(_plain(text), named)


def _plain(text: str) -> str:
    """Return a value without surrounding white space. A whole number loses its decimals, such as the .0 of 1.0."""
    number = _number(text)
    return text.strip() if number is None or number != int(number) else str(int(number))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def items_folder(sheet: Path, key: Path) -> Path:
    """Return the folder for the documents of a new sheet. Raises UsageError if the folder, sheet or key exists."""
    folder = sheet.with_name(f"{sheet.stem}-items")
    check_suffix(sheet)
    for path in (sheet, key, folder):
        if path.exists():
            raise UsageError(f"{path} already exists and may be in use; name another file")
    return folder


def write_export(
    sheet: Path, key: Path, items: Mapping[str, Answer], documents: Mapping[str, str], annotator: str
) -> None:
    """Write the key of a blinded sheet, the documents that annotators read, and the sheet itself.

    Args:
        sheet: The sheet, which must not exist yet. The documents are written to the folder that `items_folder` returns.
        key: The key file to write, which maps items to answers.
        items: The answers by opaque name.
        documents: The documents, in Markdown, by opaque name.
        annotator: The annotator's name, or "" if the annotator fills it in.
    """
    folder = items_folder(sheet, key)
    write_key(key, items)
    folder.mkdir(parents=True)
    for name, text in documents.items():
        (folder / f"{name}.md").write_text(text, "utf-8")
    rows = [{"item": name, "task": answer.task, "annotator": annotator} for name, answer in items.items()]
    write_sheet(sheet, rows)


def write_disputed(sheet: Path, items: Mapping[str, Answer], labels: Mapping[Answer, Sequence[Label]]) -> None:
    """Write a sheet of disputed answers, with the labels of each, for a third person to fill in.

    Args:
        sheet: The sheet, which must not exist yet.
        items: The answers by opaque name, from the keys of all exported sheets.
        labels: The labels of each disputed answer.

    Raises:
        UsageError: The sheet exists, or an answer is missing from the keys.
    """
    if sheet.exists():
        raise UsageError(f"{sheet} already exists; if it is filled in, name it with --decisions; otherwise, move it")
    names = {answer: name for name, answer in items.items()}
    if unnamed := [answer for answer in labels if answer not in names]:
        raise UsageError(f"{unnamed[0]} is not in any of the keys; name the keys of all exports with --key")
    rows = []
    for answer, its in labels.items():
        said = "; ".join(sorted(f"{item.category} {item.reason}".strip() for item in its))
        rows.append({"item": names[answer], "task": answer.task, "said": said})
    write_sheet(sheet, sorted(rows, key=lambda row: row["item"]))
