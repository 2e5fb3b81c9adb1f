"""The published records of LMR-BENCH, and its printed figures beside what the records give.

The folder `lmr_bench/` holds both, and names their sources.
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

# The column `think` of actions.csv is left out: the actions that it counts are among those of `message`.
ACTIONS = ("edit", "finish", "message", "read", "run", "browse")
Comparison = Literal["exact", "differs", "not recomputable", "not printed"]


class Outcome(Record):
    """What was recorded of one system's answer to one task; None where no record was published."""

    setting: str
    model: str
    paper: str
    function: str
    unit_test: str | None
    judge: str | None
    human: str | None
    annotator: str | None


class Figure(Record):
    """A figure of the paper, in percent. printed: with its digits. recomputed: from the records, if these allow it.

    note: why it is not recomputable, or whose figure was printed instead.
    """

    place: str
    name: str
    printed: tuple[str, ...]
    recomputed: tuple[float, ...]
    note: str = ""

    @property
    def comparison(self) -> Comparison:
        """Exact if each value, rounded to the digits that are printed, is the printed one."""
        if not self.printed:
            return "not printed"
        if not self.recomputed:
            return "not recomputable"
        return "exact" if _rounds_to(self.recomputed, self.printed) else "differs"


@cache
def outcomes() -> tuple[Outcome, ...]:
    """The 196 published outcomes: seven systems, 28 tasks each."""
    rows = [{name: row[name] or None for name in Outcome.model_fields} for row in _rows("outcomes.csv")]
    return tuple(map(Outcome.model_validate, rows))


def figures() -> list[Figure]:
    """Every figure of the paper, in its order, beside what the records give."""
    printed = _printed()
    rows = {(row["setting"], row["model"]): row for row in printed["table2"]}
    found = []
    for system, items in grouped(outcomes(), lambda item: (item.setting, item.model)).items():
        for axis, title in _AXES.items():
            value = rows.get(system, {}).get(axis, ())
            values = (value,) if isinstance(value, str) else tuple(value)
            shares = _shares(items, axis)
            note = "" if shares else "no record of these answers was published"
            if shares or values:
                name = f"{_title(*system)}, {title}"
                found.append(Figure(place="Table 2", name=name, printed=values, recomputed=shares, note=note))
    found = [_explained(item, found) for item in found]
    found += [
        Figure(place=row["place"], name=row["figure"], printed=tuple(row["printed"]), recomputed=(), note=row["why"])
        for row in printed["missing"]
    ]
    both = against("judge", "human")
    for key, name, share in (
        ("agreement", "judge and people say the same", both.same),
        ("conflicts", "one says CC and the other LI", both.conflicts),
    ):
        value = (_percent(share.count, share.of),)
        note = f"{share.count} of {share.of}"
        text = (printed["section54"][key],)
        found.append(Figure(place="Section 5.4", name=name, printed=text, recomputed=value, note=note))
    return [*found, _two_annotators(printed["section54"]["annotators"])]


def against(first: str, second: str, annotator: str | None = None) -> Agreement:
    """How far two axes agree where both were recorded: `unit_test`, `judge` or `human`.

    Unit tests count as CC where they pass and as LI where they fail. annotator: only what this person labelled.
    """
    found = [item for item in outcomes() if annotator in (None, item.annotator)]
    pairs = [(_label(item, first), _label(item, second), item.paper) for item in found]
    known = [(one, other, paper) for one, other, paper in pairs if one and other]
    ones, others, papers = (list(column) for column in zip(*known, strict=True)) if known else ([], [], [])
    return agreement(ones, others, papers)


def annotators() -> list[str]:
    """The letters of the annotators."""
    return sorted({item.annotator for item in outcomes() if item.annotator})


def raters() -> dict[str, Agreement]:
    """Return how far judge, people and unit tests agree, by the names of the two."""
    return {
        "judge and people": against("judge", "human"),
        **{f"judge and annotator {name}": against("judge", "human", name) for name in annotators()},
        "unit tests and judge": against("unit_test", "judge"),
        "unit tests and people": against("unit_test", "human"),
    }


def actions_of_sessions() -> list[tuple[str, str, bool, dict[str, int]]]:
    """The agent of each recorded session, its paper, whether the results name it, and its actions of each kind."""
    return [
        (
            _title("openhands", row["model"]),
            row["paper"],
            row["main_session"] == "True",
            {name: int(row[name]) for name in ACTIONS},
        )
        for row in _rows("actions.csv")
    ]


def solved_papers() -> dict[tuple[str, str], bool]:
    """By agent and paper: whether all functions of the paper passed their unit tests. OpenHands alone has records."""
    agents = [item for item in outcomes() if item.setting == "openhands"]
    return {
        key: all(item.unit_test == "pass" for item in items)
        for key, items in grouped(agents, lambda item: (_title(item.setting, item.model), item.paper)).items()
    }


_AXES = {"unit": "unit tests", "judge": "judge, CC/LC/LI", "human": "people, CC/LC/LI"}
_NAMES = {"gpt-4o": "GPT-4o", "gpt-4.1": "GPT-4.1", "claude-3.7": "Claude 3.7", "openhands": "OpenHands"}


def _title(setting: str, model: str) -> str:
    return f"{_NAMES.get(setting, setting)} {_NAMES.get(model, model)}"


def _two_annotators(printed: str) -> Figure:
    """How often two annotators contradict the judge, on average: those two who do so most often."""
    shares = {name: against("judge", "human", name).conflicts for name in annotators()}
    rates = sorted((_percent(share.count, share.of), name) for name, share in shares.items())[-2:]
    return Figure(
        place="Section 5.4",
        name="one says CC and the other LI, mean of two annotators",
        printed=(printed,),
        recomputed=(sum(rate for rate, _ in rates) / len(rates),),
        note=f"of {' and '.join(f'{name}, {rate:.1f}' for rate, name in rates)}; the paper does not name the two",
    )


def _label(item: Outcome, axis: str) -> str | None:
    value: str | None = getattr(item, axis)
    return {"pass": "CC", "fail": "LI"}.get(value, value) if value else None


def _shares(items: Sequence[Outcome], axis: str) -> tuple[float, ...]:
    """In percent: of what passes, or of each category. Empty where nothing was recorded."""
    said = [value for item in items if (value := getattr(item, "unit_test" if axis == "unit" else axis))]
    if not said:
        return ()
    return tuple(_percent(said.count(name), len(said)) for name in (("pass",) if axis == "unit" else CATEGORIES))


def _percent(count: int, total: int) -> float:
    return 100 * count / total


def _explained(item: Figure, others: Iterable[Figure]) -> Figure:
    """With a note where what is printed is what the records give for another system."""
    if item.comparison != "differs":
        return item
    meant = [
        other.name
        for other in others
        if len(other.recomputed) == len(item.printed) > 1 and _rounds_to(other.recomputed, item.printed)
    ]
    return item.model_copy(update={"note": f"printed is what the records give for {meant[0]}"}) if meant else item


def _rounds_to(values: Sequence[float], printed: Sequence[str]) -> bool:
    return all(f"{value:.{len(text.partition('.')[2])}f}" == text for value, text in zip(values, printed, strict=True))


@cache
def _printed() -> Mapping[str, Any]:
    return tomllib.loads((_folder() / "printed.toml").read_text("utf-8"))


def _rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((_folder() / name).read_text("utf-8").splitlines()))


def _folder() -> Traversable:
    return files("lmrbench.integrations.lmr_bench") / "data"
