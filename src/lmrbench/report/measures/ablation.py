"""What does a system lose where it is shown less? Its runs with several inputs, on the tasks that all of them answered.

Table 3 of the LMR-BENCH paper, with tests. Which inputs a run had stands in its run.json.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_args

from pydantic import ValidationError

from lmrbench.errors import RecordError, UsageError
from lmrbench.records import Record, grouped
from lmrbench.report.measures.comparison import Comparison, comparisons, corrected
from lmrbench.report.measures.rates import Rate, rate
from lmrbench.runs.folder import FACTS, Run
from lmrbench.solving.settings import Settings
from lmrbench.tasks.model import Inputs

INPUTS: tuple[Inputs, ...] = get_args(Inputs)


class Ablation(Record):
    """One system under several inputs, on the tasks to which it has an answer under each of them.

    differences: of each two inputs, of which the first shows more. differing: the other settings in which its runs
    differ. problem: why there are no rates and differences; "" where there are.
    """

    system: str
    tasks: int
    rates: dict[Inputs, Rate]
    differences: tuple[Comparison, ...]
    differing: tuple[str, ...]
    problem: str = ""


def ablations(runs: Iterable[Run]) -> list[Ablation]:
    """Each system of the runs under its inputs, in the order in which the systems first occur.

    Samples that the machinery left unanswered have no grade, and are no answers. Holm's correction is for the
    differences of all systems. Raises UsageError for a run whose inputs are not known, and where two runs are of one
    system with the same inputs.
    """
    known = [(_settings(run), run) for run in runs]
    found = [_ablation(system, of_system) for system, of_system in grouped(known, lambda item: item[0].name).items()]
    differences = iter(corrected([item for one in found for item in one.differences]))
    return [
        item.model_copy(update={"differences": tuple(next(differences) for _ in item.differences)}) for item in found
    ]


def _settings(run: Run) -> Settings:
    if run.facts is None or run.facts.solving is None:
        raise UsageError(f"{run.folder}: names no inputs; only runs of models have them")
    try:
        return Settings.model_validate(run.facts.solving)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, ("solving", *first["loc"])))
        raise RecordError(f"{run.folder / FACTS}: {key}: {first['msg']}") from error


def _ablation(system: str, runs: Sequence[tuple[Settings, Run]]) -> Ablation:
    of_inputs: dict[Inputs, tuple[Settings, Run]] = {}
    for settings, run in sorted(runs, key=lambda item: INPUTS.index(item[0].inputs)):
        if settings.inputs in of_inputs:
            folders = f"{of_inputs[settings.inputs][1].folder} and {run.folder}"
            raise UsageError(f"{folders}: both are of {system} with inputs {settings.inputs}; name one of them")
        of_inputs[settings.inputs] = settings, run
    # A folder may hold grades of other systems, to which its settings do not apply.
    grades = {inputs: [item for item in run.grades if item.system == system] for inputs, (_, run) in of_inputs.items()}
    common = set.intersection(*({item.task for item in of_run} for of_run in grades.values()))
    problem = ""
    if len(of_inputs) < 2:
        problem = f"there is one run of it alone, with inputs {next(iter(of_inputs))}"
    elif not common:
        problem = f"no task has an answer under each of the inputs {', '.join(of_inputs)}"
    kept = {
        inputs: [item.model_copy(update={"system": inputs}) for item in of_run if item.task in common]
        for inputs, of_run in ({} if problem else grades).items()
    }
    return Ablation(
        system=system,
        tasks=len(common),
        rates={inputs: rate(of_run) for inputs, of_run in kept.items()},
        differences=tuple(comparisons(item for of_run in kept.values() for item in of_run)),
        differing=_differing([settings for settings, _ in of_inputs.values()]),
        problem=problem,
    )


def _differing(of_runs: Sequence[Settings]) -> tuple[str, ...]:
    """The names of settings that change answers, besides the inputs, and that are not the same in all runs."""
    first = of_runs[0].conditions
    names = [name for name in first if name not in ("inputs", "samples")]
    return tuple(name for name in names if any(item.conditions[name] != first[name] for item in of_runs))
