"""Compare the rates of a system under different choices of inputs, on the tasks that it answered under every choice.

Inputs are the parts of the workspace that a solver sees: `full`, `paper+file` or `paper`. run.json records the choice
of inputs of a run. This is the comparison in Table 3 of the LMR-BENCH paper, with significance tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_args

from pydantic import ValidationError

from lmrbench.errors import RecordError, UsageError
from lmrbench.models.settings import Settings
from lmrbench.records import Record, grouped
from lmrbench.report.measures.comparison import Comparison, comparisons, corrected
from lmrbench.report.measures.rates import Rate, rate
from lmrbench.runs.folder import FACTS, Run
from lmrbench.tasks.model import Inputs

INPUTS: tuple[Inputs, ...] = get_args(Inputs)


class Ablation(Record):
    """The rates of one system under different choices of inputs, on the tasks that it answered under every choice.

    Attributes:
        system: The name of the system.
        tasks: The number of tasks that it answered under every choice.
        rates: The rates, by choice of inputs.
        differences: The comparisons of all pairs of choices. In each pair, the choice with more inputs comes first.
        differing: The names of the settings, other than the inputs, in which the runs differ.
        problem: The reason why the rates and the differences are undefined; empty if they are defined.
    """

    system: str
    tasks: int
    rates: dict[Inputs, Rate]
    differences: tuple[Comparison, ...]
    differing: tuple[str, ...]
    problem: str = ""


def ablations(runs: Iterable[Run]) -> list[Ablation]:
    """Compare the rates of each system under different choices of inputs.

    Args:
        runs: Runs of models. Unanswered samples have no grade, so they do not count.

    Returns:
        One item per system, in the order in which systems first occur. Holm's correction covers the differences of
        all systems.

    Raises:
        UsageError: The inputs of a run are unknown, or two runs have the same system and inputs.
        RecordError: The settings of a run are malformed.
    """
    known = [(_settings(run), run) for run in runs]
    found = [_ablation(system, of_system) for system, of_system in grouped(known, lambda item: item[0].name).items()]
    differences = iter(corrected([item for one in found for item in one.differences]))
    return [
        item.model_copy(update={"differences": tuple(next(differences) for _ in item.differences)}) for item in found
    ]


def _settings(run: Run) -> Settings:
    if run.facts is None or run.facts.solving is None:
        raise UsageError(f"{run.folder}: no inputs recorded; name a run of a model (`lmrbench run --model`)")
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
            raise UsageError(
                f"{folders}: both contain answers of {system} with inputs {settings.inputs}; name only one of them"
            )
        of_inputs[settings.inputs] = settings, run
    # A folder may contain grades of other systems, to which its settings do not apply.
    grades = {inputs: [item for item in run.grades if item.system == system] for inputs, (_, run) in of_inputs.items()}
    common = set.intersection(*({item.task for item in of_run} for of_run in grades.values()))
    problem = ""
    if len(of_inputs) < 2:
        problem = f"only one run, with inputs {next(iter(of_inputs))}"
    elif not common:
        problem = f"no task was answered under every choice of inputs ({', '.join(of_inputs)})"
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
    """Return the names of the settings, other than the inputs, that affect answers and differ between the runs."""
    first = of_runs[0].conditions
    names = [name for name in first if name not in ("inputs", "samples")]
    return tuple(name for name in names if any(item.conditions[name] != first[name] for item in of_runs))
