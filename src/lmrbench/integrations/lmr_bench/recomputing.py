"""Recompute the numbers in the LMR-BENCH paper from the records in lmrbench or in a clone of the public edition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lmrbench.authoring.new.drafting import MOST_BYTES
from lmrbench.errors import SubmissionError, TaskError, UsageError
from lmrbench.integrations.lmr_bench.actions import action_figures
from lmrbench.integrations.lmr_bench.edition import (
    benchmark_folders,
    paper_number,
    path_inside,
    paths_in_code,
    read_benchmark,
)
from lmrbench.integrations.lmr_bench.imported import Remark
from lmrbench.integrations.lmr_bench.published import PaperFigure, figures, outcomes, raters
from lmrbench.integrations.lmr_bench.records import PublicRecords, System, read_records
from lmrbench.integrations.lmr_bench.sessions import published_sessions, recorded_sessions
from lmrbench.integrations.lmr_bench.structure import Outcome, fitted, paper_measures
from lmrbench.judging.agreement import Agreement
from lmrbench.tasks.foreign import read_foreign

# The systems in the regression of Table 5. The first one is the baseline that the others are compared with.
_REGRESSED = tuple(System("openhands", model) for model in ("gpt-4.1", "gpt-4o", "o4-mini"))


@dataclass(frozen=True)
class Recomputed:
    """The result of recomputing the numbers in the paper.

    Attributes:
        figures: The printed and the recomputed numbers.
        pairs: The agreement of each pair of published raters (judge, people, unit tests), by the names of the pair.
        problems: The records that could not be read, with reasons.
    """

    figures: Sequence[PaperFigure]
    pairs: Mapping[str, Agreement]
    problems: Sequence[Remark] = ()


def recomputed() -> Recomputed:
    """Recompute the numbers from the records that come with lmrbench."""
    known = outcomes()
    return Recomputed([*figures(known), *action_figures(published_sessions())], raters(known))


def recomputed_from(clone: Path) -> Recomputed:
    """Recompute the numbers from the records in a clone of the public edition.

    Raises:
        UsageError: The folder contains no records.
        RecordError: An event in a log of OpenHands is not valid JSON.
    """
    records = read_records(clone)
    known = records.outcomes()
    sessions = action_figures(recorded_sessions(records))
    printed = [_with_coefficients(item, records) if item.place == "Table 5" else item for item in figures(known)]
    return Recomputed([*printed, *sessions], raters(known), records.problems)


def _with_coefficients(figure: PaperFigure, records: PublicRecords) -> PaperFigure:
    """Return the numbers of Table 5 with recomputed coefficients, or with a note if they can't be computed.

    The table shows a regression of passing on the structure of repositories, for three models with OpenHands.
    """
    shapes = _shapes(records.clone)
    outcomes = [
        Outcome(item.system.model, f"{item.paper}/{item.function}", str(item.paper), passed)
        for item, passed in sorted(records.unit_tests.items())
        if item.system in _REGRESSED and f"{item.paper}/{item.function}" in shapes
    ]
    models = {item.system for item in outcomes}
    if len(models) < len(_REGRESSED):
        why = "requires the benchmark folders, and unit-test results of OpenHands with three models"
        return figure.model_copy(update={"note": why})
    fit = fitted(outcomes, shapes)
    values = tuple(item.value for item in fit.coefficients)
    if len(values) != len(figure.printed):
        return figure.model_copy(update={"note": fit.problem or "a measure is the same for all answers"})
    note = f"{fit.answers} answers; the paper defines neither imbalance nor the scale of its measures"
    return figure.model_copy(update={"recomputed": values, "note": note})


def _shapes(clone: Path) -> dict[str, dict[str, float]]:
    """Return the structural measures of each function's repository, by "PAPER/FUNCTION" (two numbers)."""
    found: dict[str, dict[str, float]] = {}
    try:
        folders = benchmark_folders(clone)
    except UsageError:
        return {}
    for folder in folders:
        number = paper_number(folder.name)
        try:
            benchmark = read_benchmark(folder)
            code = [path for _, path in paths_in_code(benchmark, benchmark.files)]
            for function, item in enumerate(benchmark.implementations):
                goal = path_inside(benchmark, item.get("goal_file")) or ""
                path = f"{benchmark.repository}/{goal.removeprefix(f'{benchmark.repository}/')}"
                if data := read_foreign(folder, path, MOST_BYTES):
                    found.setdefault(f"{number}/{function}", paper_measures(code, [data]))
        except (TaskError, SubmissionError):
            continue
    return found
