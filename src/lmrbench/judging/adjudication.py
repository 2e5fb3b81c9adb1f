"""Adjudicate labels: combine the categories that several people gave to an answer into one.

Disputed answers are written to a sheet, which a third person fills in.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from lmrbench.errors import UsageError
from lmrbench.judging.labels import adjudicated, disputed, read_labels, write_labels
from lmrbench.judging.sheets import read_keys, read_sheets, write_disputed


class Adjudication(NamedTuple):
    """The result of adjudicating a file of labels.

    Attributes:
        verdicts: The number of answers that got an adjudicated label.
        undecided: The number of disputed answers that no third person has decided.
        sheet: The path of the sheet of disputed answers.
    """

    verdicts: int
    undecided: int
    sheet: Path


def adjudicate_file(file: Path, keys: Iterable[Path], out: Path, decisions: Path | None) -> Adjudication:
    """Write a file of adjudicated labels and, if there are no decisions yet, a sheet of the disputed answers.

    Args:
        file: The file with the labels of all annotators.
        keys: The key files of all exported sheets, which map the items of the sheets to answers.
        out: The file of adjudicated labels to write.
        decisions: The sheet of disputed answers that a third person filled in; None if there is none yet.

    Raises:
        UsageError: `out` is the same file as `file`, the sheet to write exists already, a disputed answer is missing
            from the keys, or a decision is not about a disputed answer.
        RecordError: A file is damaged.
    """
    if out.exists() and out.samefile(file):
        raise UsageError(f"{out} is the input file of labels; name another file with --out")
    found, items = read_labels([file]), read_keys(keys)
    open_ = disputed(found)
    decided = read_sheets([decisions], items)[0] if decisions else []
    verdicts = adjudicated(found, decided)
    sheet = decisions or out.with_name(f"{out.stem}-disputed.csv")
    if open_ and not decisions:
        write_disputed(sheet, items, open_)
    write_labels(out, verdicts)
    return Adjudication(len(verdicts), len(open_) - len({item.answer for item in decided}), sheet)
