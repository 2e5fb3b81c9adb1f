"""Recompute the figures of the LMR-BENCH paper: from the records that lmrbench holds, or from those of a clone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lmrbench.integrations.lmr_bench.actions import action_figures, published_sessions, recorded_sessions
from lmrbench.integrations.lmr_bench.importing import Remark
from lmrbench.integrations.lmr_bench.published import PaperFigure, figures, outcomes, raters
from lmrbench.integrations.lmr_bench.records import read_records
from lmrbench.judging.agreement import Agreement


@dataclass(frozen=True)
class Recomputed:
    """The recomputed figures.

    Attributes:
        figures: The figures of the paper.
        pairs: The agreement of the published raters, by their names.
        problems: What of the records could not be read.
    """

    figures: Sequence[PaperFigure]
    pairs: Mapping[str, Agreement]
    problems: Sequence[Remark] = ()


def recomputed() -> Recomputed:
    """Recompute the figures from the records that lmrbench holds."""
    known = outcomes()
    return Recomputed([*figures(known), *action_figures(published_sessions())], raters(known))


def recomputed_from(clone: Path) -> Recomputed:
    """Recompute the figures from the records of a clone of the public edition.

    Raises:
        UsageError: The folder holds no records.
        RecordError: An event of a log is not JSON.
    """
    records = read_records(clone)
    known = records.outcomes()
    sessions = action_figures(recorded_sessions(records))
    return Recomputed([*figures(known), *sessions], raters(known), records.problems)
