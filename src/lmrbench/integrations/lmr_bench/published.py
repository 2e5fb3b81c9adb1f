"""Compare the numbers in the LMR-BENCH paper with the published records of its systems.

The folder `data/` contains the records and the printed numbers, and names their sources.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Literal

from lmrbench.judging.agreement import Agreement, agreement
from lmrbench.records import Record, grouped
from lmrbench.runs.records import CATEGORIES

# The columns of actions.csv that are counted. `think` is left out, because its actions are also counted as `message`.
ACTIONS = ("edit", "finish", "message", "read", "run", "browse")
FigureStatus = Literal["exact", "differs", "not recomputable", "not printed"]
FigureUnit = Literal["percent", "count", "coefficient"]
RaterName = Literal["unit_test", "judge", "human"]


class PublishedOutcome(Record):
    """The published record of one system's answer to one task. Values are None if no record was published.

    Attributes:
        setting: `prompting` or the name of the agent.
        model: The name of the model.
        paper: The name of the paper.
        function: The name of the function.
        unit_test: `pass` or `fail`.
        judge: The category that the LLM judge chose: CC (completely correct), LC (logic correct, implementation faulty)
            or LI (logic incorrect).
        human: The category that the annotator chose.
        annotator: The letter of the annotator.
    """

    setting: str
    model: str
    paper: str
    function: str
    unit_test: str | None
    judge: str | None
    human: str | None
    annotator: str | None


class PaperFigure(Record):
    """A number that the paper reports, or several numbers that belong together.

    Attributes:
        place: The table or section of the paper.
        name: The quantity that the values measure.
        printed: The values as printed in the paper; empty if it prints none.
        recomputed: The values computed from the records; empty if the records do not allow it.
        note: The reason why the values can't be recomputed, or a remark on them; "" for neither.
        unit: The unit of the values.
    """

    place: str
    name: str
    printed: tuple[str, ...]
    recomputed: tuple[float, ...]
    note: str = ""
    unit: FigureUnit = "percent"

    @property
    def comparison(self) -> FigureStatus:
        """Whether the recomputed values match the printed ones: `exact` if they round to the printed digits."""
        if not self.printed:
            return "not printed"
        if not self.recomputed:
            return "not recomputable"
        return "exact" if _rounds_to(self.recomputed, self.printed) else "differs"


@cache
def outcomes() -> tuple[PublishedOutcome, ...]:
    """Return the 196 published outcomes: seven systems with 28 tasks each."""
    rows = [{name: row[name] or None for name in PublishedOutcome.model_fields} for row in _rows("outcomes.csv")]
    return tuple(map(PublishedOutcome.model_validate, rows))


def figures(known: Sequence[PublishedOutcome]) -> list[PaperFigure]:
    """Return the numbers in the order of the paper, together with the values recomputed from the records.

    Args:
        known: The records that `outcomes` returns, or the records of a clone of the edition.
    """
    printed = _printed()
    rows = {(row["setting"], row["model"]): row for row in printed["table2"]}
    systems = grouped(known, lambda item: (item.setting, item.model))
    found = []
    for system in dict.fromkeys((*systems, *rows)):
        for axis, title in _AXES.items():
            value = rows.get(system, {}).get(axis, ())
            values = (value,) if isinstance(value, str) else tuple(value)
            shares = _shares(systems.get(system, ()), axis)
            note = "" if shares else "no record of these answers was published"
            if shares or values:
                name = f"{system_title(*system)}, {title}"
                found.append(PaperFigure(place="Table 2", name=name, printed=values, recomputed=shares, note=note))
    found = [_explained(item, found) for item in found]
    found += [
        PaperFigure(
            place=row["place"],
            name=row["figure"],
            printed=tuple(row["printed"]),
            recomputed=(),
            note=row["why"],
            unit=row.get("unit", "percent"),
        )
        for row in printed["missing"]
    ]
    both = against(known, "judge", "human")
    for key, name, share in (
        ("agreement", "judge and people agree", both.same),
        ("conflicts", "judge and people contradict each other (CC and LI)", both.conflicts),
    ):
        value = (_percent(share.count, share.of),) if share.of else ()
        note = f"{share.count} of {share.of}" if share.of else "no answer has both a judgement and a label"
        text = (printed["section54"][key],)
        found.append(PaperFigure(place="Section 5.4", name=name, printed=text, recomputed=value, note=note))
    return [*found, _two_annotators(known, printed["section54"]["annotators"])]


def against(
    known: Iterable[PublishedOutcome], first: RaterName, second: RaterName, annotator: str | None = None
) -> Agreement:
    """Compute the agreement of two raters on the answers that both rated.

    A passing unit test counts as CC, a failing one as LI.

    Args:
        known: The records.
        first: The first rater.
        second: The second rater.
        annotator: The name of an annotator, to count only answers that this annotator labelled; None for all answers.

    Returns:
        The agreement.
    """
    found = [item for item in known if annotator in (None, item.annotator)]
    pairs = [(_label(item, first), _label(item, second), item.paper) for item in found]
    rated = [(one, other, paper) for one, other, paper in pairs if one and other]
    ones, others, papers = (list(column) for column in zip(*rated, strict=True)) if rated else ([], [], [])
    return agreement(ones, others, papers)


def annotators(known: Iterable[PublishedOutcome]) -> list[str]:
    """Return the names of the annotators."""
    return sorted({item.annotator for item in known if item.annotator})


def raters(known: Sequence[PublishedOutcome]) -> dict[str, Agreement]:
    """Return the agreement of each pair of raters (judge, people, unit tests), by the names of the pair."""
    return {
        "judge and people": against(known, "judge", "human"),
        **{f"judge and annotator {name}": against(known, "judge", "human", name) for name in annotators(known)},
        "unit tests and judge": against(known, "unit_test", "judge"),
        "unit tests and people": against(known, "unit_test", "human"),
    }


def actions_of_sessions() -> list[tuple[str, str, bool, dict[str, int]]]:
    """Return the recorded sessions of agents.

    Returns:
        For each session: the name of the system, the name of the paper, whether the published results use the session,
        and the number of actions by kind.
    """
    return [
        (
            system_title("openhands", row["model"]),
            row["paper"],
            row["main_session"] == "True",
            {name: int(row[name]) for name in ACTIONS},
        )
        for row in _rows("actions.csv")
    ]


def solved_papers(known: Iterable[PublishedOutcome]) -> dict[tuple[str, str], bool]:
    """Return whether all functions of a paper pass their unit tests, by system (OpenHands only) and paper.

    Args:
        known: The records. Answers without a unit test are left out.
    """
    agents = [item for item in known if item.setting == "openhands" and item.unit_test]
    return {
        key: all(item.unit_test == "pass" for item in items)
        for key, items in grouped(agents, lambda item: (system_title(item.setting, item.model), item.paper)).items()
    }


def system_title(setting: str, model: str) -> str:
    """Return the name of a system in tables."""
    return f"{_NAMES.get(setting, setting)} {_NAMES.get(model, model)}"


_AXES = {"unit": "unit tests", "judge": "judge, CC/LC/LI", "human": "people, CC/LC/LI"}
_NAMES = {"gpt-4o": "GPT-4o", "gpt-4.1": "GPT-4.1", "claude-3.7": "Claude 3.7", "openhands": "OpenHands"}


def _two_annotators(known: Sequence[PublishedOutcome], printed: str) -> PaperFigure:
    """Recompute the mean rate of contradiction for the two annotators who contradict the judge most often."""
    shares = {name: against(known, "judge", "human", name).conflicts for name in annotators(known)}
    rates = sorted((_percent(share.count, share.of), name) for name, share in shares.items() if share.of)[-2:]
    compared = " and ".join(f"{name}: {rate:.1f}" for rate, name in rates)
    return PaperFigure(
        place="Section 5.4",
        name="judge and people contradict each other (CC and LI), mean of two annotators",
        printed=(printed,),
        recomputed=(sum(rate for rate, _ in rates) / 2,) if len(rates) == 2 else (),
        note=f"{compared}; the paper does not name the annotators" if len(rates) == 2 else "fewer than two annotators",
    )


def _label(item: PublishedOutcome, axis: RaterName) -> str | None:
    value: str | None = getattr(item, axis)
    return {"pass": "CC", "fail": "LI"}.get(value, value) if value else None


def _shares(items: Sequence[PublishedOutcome], axis: str) -> tuple[float, ...]:
    """Return the share of passing answers, or of each category, in percent; () if nothing was recorded."""
    values = [value for item in items if (value := getattr(item, "unit_test" if axis == "unit" else axis))]
    if not values:
        return ()
    return tuple(_percent(values.count(name), len(values)) for name in (("pass",) if axis == "unit" else CATEGORIES))


def _percent(count: int, total: int) -> float:
    return 100 * count / total


def _explained(item: PaperFigure, others: Iterable[PaperFigure]) -> PaperFigure:
    """Add a note if the printed values differ because they are those of another system."""
    if item.comparison != "differs":
        return item
    meant = [
        other.name
        for other in others
        if len(other.recomputed) == len(item.printed) > 1 and _rounds_to(other.recomputed, item.printed)
    ]
    return item.model_copy(update={"note": f"the printed values match the records of {meant[0]}"}) if meant else item


def _rounds_to(values: Sequence[float], printed: Sequence[str]) -> bool:
    return all(f"{value:.{len(text.partition('.')[2])}f}" == text for value, text in zip(values, printed, strict=True))


@cache
def _printed() -> Mapping[str, Any]:
    return tomllib.loads((_folder() / "printed.toml").read_text("utf-8"))


def _rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((_folder() / name).read_text("utf-8").splitlines()))


def _folder() -> Traversable:
    return files("lmrbench.integrations.lmr_bench") / "data"
