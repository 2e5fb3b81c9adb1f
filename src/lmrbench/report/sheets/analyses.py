"""The tables that `lmrbench analyse` prints.

They show the actions of agents, the effects of repository structure and of inputs, published numbers next to recomputed
ones, and the familiarity of code. Familiarity is the mean probability that a model assigns to the tokens of a file,
minus that of a copy in which local variables are renamed and the layout is changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from lmrbench.report.measures.comparison import COMPARED, compared
from lmrbench.report.render.cells import UNDEFINED, counted_answers, number, p_value, percent, span
from lmrbench.report.render.tables import Sheet, sheet
from lmrbench.report.sheets.judging import pairs_sheet
from lmrbench.text import counted

if TYPE_CHECKING:
    from lmrbench.integrations.lmr_bench.actions import Contrast, Distribution
    from lmrbench.integrations.lmr_bench.published import PaperFigure
    from lmrbench.integrations.lmr_bench.sessions import LoggedSession
    from lmrbench.integrations.lmr_bench.structure import Regression
    from lmrbench.judging.agreement import Agreement
    from lmrbench.report.familiarity import Correlation, Familiarity
    from lmrbench.report.measures.ablation import Ablation

# The format of recomputed numbers, by unit.
_FORMS = {"percent": ".1f", "count": ".0f", "coefficient": "z.4f"}


def actions_sheet(found: Sequence[Distribution]) -> Sheet:
    """Return the table of the actions of agents, by system, outcome of the session, and kind of action."""
    from lmrbench.integrations.lmr_bench.sessions import KINDS

    rows = [
        [item.system, item.outcome, item.sessions, item.actions, *(_counted(item, kind) for kind in KINDS)]
        for item in found
    ]
    columns = ["system", "outcome", "sessions", "actions", *KINDS]
    return sheet("Actions of agents by kind, with shares", columns, rows, numbers=columns[2:], spare=["sessions"])


def _counted(item: Distribution, kind: str) -> str:
    return f"{item.counts[kind]} ({item.shares[kind]:.1%})" if item.actions else ""


def contrasts_sheet(found: Sequence[Contrast]) -> Sheet:
    """Return the table of permutation tests that compare sessions that solved their task with the other sessions."""
    rows = [
        [item.system, item.solved, item.unsolved, number(item.distance, ".3f"), number(item.p, ".4f")] for item in found
    ]
    columns = ["system", "solved", "not solved", "distance", "p"]
    title = "Difference in actions between sessions that solved their task and all other sessions (permutation test)"
    return sheet(title, columns, rows, numbers=columns[1:])


def actions_facts(found: Iterable[Distribution], tests: Iterable[Contrast]) -> dict[str, object]:
    """Return the actions of agents and the permutation tests, for JSON."""
    return {
        "distributions": [item.model_dump() for item in found],
        "contrasts": [item.model_dump() for item in tests],
    }


def repeated_line(sessions: Sequence[LoggedSession]) -> str:
    """Return a line about recorded sessions in which an agent worked on a paper again, or "" if there are none."""
    repeated = sum(item.repeated for item in sessions)
    if not repeated:
        return ""
    return (
        f"{len(sessions) - repeated} of {len(sessions)} recorded sessions are counted: those that appear in the "
        f"published results. In the other {repeated}, an agent worked on a paper again; only the rows 'with repeats' "
        "and the published totals include them"
    )


def structure_parts(name: str, found: Regression) -> tuple[Sheet | None, str]:
    """Return the table of a regression, and a line about it. The table is None if the regression is not defined.

    Args:
        name: The set of structure measures: "paper" for those of the LMR-BENCH paper, "ours" for those of lmrbench.
        found: The regression on these measures.
    """
    measures = {"paper": "the paper's measures", "ours": "our measures"}[name]
    counts = f"{counted(found.answers, 'answer')}, {counted(found.papers, 'paper')}"
    if found.problem:
        return None, f"{measures}: {UNDEFINED}: {found.problem} ({counts})"
    rows = [
        [part.name, number(part.value, ".3f"), number(part.error, ".3f"), number(part.z, ".2f"), p_value(part.p)]
        for part in found.coefficients
    ]
    columns = ["", "coefficient", "standard error", "z", "p"]
    title = f"Logistic regression of passing on repository structure ({measures})"
    return sheet(
        title, columns, rows, numbers=columns[1:]
    ), f"{counts}; measures are in units of their standard deviation"


def ablation_sheets(found: Sequence[Ablation]) -> list[Sheet]:
    """Return the table of rates for each choice of inputs, and the table of differences between these rates.

    Inputs are the parts of the workspace that a solver sees. Systems without defined rates are left out.
    """
    defined = [item for item in found if not item.problem]
    rates = [
        [
            item.system,
            inputs,
            item.tasks,
            counted_answers(rate),
            percent(rate.correct),
            span(rate.low, rate.high),
            span(rate.paper_low, rate.paper_high),
        ]
        for item in defined
        for inputs, rate in item.rates.items()
    ]
    differences = [
        [item.system, pair.first, pair.second, *compared(pair)] for item in defined for pair in item.differences
    ]
    if not rates:
        return []
    columns = ["system", "inputs", "tasks", "answers", "correct", "over tasks", "over papers"]
    pairs = ["system", "first", "second", *COMPARED]
    return [
        sheet(
            "Share of passing answers by inputs, with 95% intervals (only tasks answered under every choice of inputs)",
            columns,
            rates,
            numbers=columns[2:],
            spare=["answers", "over papers"],
        ),
        sheet(
            "Rate with the first inputs minus the rate with the second, in percentage points, with Holm's correction",
            pairs,
            differences,
            numbers=[column for column in COMPARED if column != "test"],
            spare=["interval", "won/lost", "tasks", "p", "test"],
        ),
    ]


def ablation_warnings(found: Iterable[Ablation]) -> list[str]:
    """Return a warning for each system whose runs differ in more than their inputs."""
    return [
        f"{item.system}: the runs also differ in {', '.join(item.differing)}; differences in rates may not be due to "
        "the inputs"
        for item in found
        if item.differing
    ]


def ablation_problems(found: Iterable[Ablation]) -> list[str]:
    """Return a line for each system whose rates can't be compared."""
    return [f"{item.system}: {UNDEFINED}: {item.problem}" for item in found if item.problem]


def published_sheets(figures: Sequence[PaperFigure], pairs: Mapping[str, Agreement]) -> list[Sheet]:
    """Return the tables of published and recomputed numbers, of notes on them, and of agreement between raters."""
    rows = [
        [
            item.place,
            item.name,
            " / ".join(item.printed),
            " / ".join(format(value, _FORMS[item.unit]) for value in item.recomputed),
            item.comparison,
        ]
        for item in figures
    ]
    columns = ["place", "quantity", "printed", "recomputed", ""]
    notes = dict.fromkeys((item.place, item.note) for item in figures if item.note)
    return [
        sheet(
            "Numbers that the paper prints, and the same numbers recomputed from its records",
            columns,
            rows,
        ),
        sheet("Notes", ["place", "note"], notes),
        pairs_sheet(pairs),
    ]


def published_line(figures: Sequence[PaperFigure]) -> str:
    """Return one line with the number of quantities, of those recomputed exactly, and of those that differ."""
    counts = Counter(item.comparison for item in figures)
    return f"{len(figures)} quantities: {counts['exact']} recomputed exactly, {counts['differs']} differ"


def published_facts(figures: Sequence[PaperFigure], pairs: Mapping[str, Agreement]) -> dict[str, object]:
    """Return the published and recomputed numbers, and the agreement of the published raters, for JSON."""
    return {
        "figures": [{**item.model_dump(), "comparison": item.comparison} for item in figures],
        "agreement": {name: item.model_dump() for name, item in pairs.items()},
    }


def familiarity_sheet(found: Sequence[Familiarity]) -> Sheet:
    """Return the table of mean token probabilities of goal files and of their renamed and reformatted copies.

    Goal files are the files that a solver must complete. In a renamed copy, local variables have other names.
    """
    rows = [
        [item.task, item.file, item.tokens, f"{item.as_written:.3f}", f"{item.renamed:.3f}", f"{item.difference:+z.3f}"]
        for item in sorted(found, key=lambda item: -item.difference)
    ]
    columns = ["task", "file", "tokens", "as written", "renamed", "difference"]
    title = "Mean probability of a token, given the tokens before it"
    return sheet(title, columns, rows, numbers=columns[2:], spare=["tokens", "file"])


def familiarity_facts(found: Iterable[Familiarity], related: Iterable[Correlation]) -> dict[str, object]:
    """Return the familiarity of goal files, and its correlation with success, for JSON."""
    return {
        "files": [{**item.model_dump(), "difference": item.difference} for item in found],
        "correlations": [item.model_dump() for item in related],
    }


def correlation_lines(found: Iterable[Correlation]) -> Iterator[str]:
    """Yield, for each system, a line with the rank correlation between its success and the familiarity of the tasks."""
    for item in found:
        text = f"{UNDEFINED}: {item.problem}"
        if item.rho is not None and item.p is not None:
            text = f"Spearman's rho {item.rho:+z.2f}, p = {item.p:.3f}"
        yield (
            f"{item.system}: correlation of success with familiarity (probability as written minus renamed) over "
            f"{counted(item.tasks, 'task')}: {text}"
        )
