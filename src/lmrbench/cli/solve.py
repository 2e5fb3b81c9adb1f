"""`lmrbench solve` and `lmrbench run`: what does a model or an agent answer, and how good is that?"""

from __future__ import annotations

import inspect
import json as json_module
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from lmrbench.cli.grade import RUNS, grade_with_progress, say_set_aside
from lmrbench.cli.interrupt import as_keyboard_interrupt
from lmrbench.cli.options import (
    PATTERN_HELP,
    JsonOption,
    SuiteOption,
    load_all_and_some,
    load_tasks,
    print_json,
    suite_folder,
)
from lmrbench.cli.terminal import cell, say
from lmrbench.tasks.model import Inputs

if TYPE_CHECKING:
    from rich.console import Console

    from lmrbench.grading.records import Grade, Usage


def solve(
    model: Annotated[
        str,
        typer.Option(
            "--model",
            "-m",
            metavar="MODEL",
            help="As Inspect names it: openai/gpt-5, anthropic/..., vllm/..., ollama/...",
        ),
    ],
    setting: Annotated[
        Literal["prompt", "agent"], typer.Option(help="prompt: one message, one answer. agent: a workspace and tools.")
    ] = "prompt",
    inputs: Annotated[
        Inputs, typer.Option(help="What is shown: full (repository), paper+file (the goal file), or paper alone.")
    ] = "full",
    paper: Annotated[
        Literal["digest", "pdf", "latex"],
        typer.Option(help="The form of the paper; pdf and latex after `lmrbench papers fetch`."),
    ] = "digest",
    task: Annotated[list[str] | None, typer.Option("--task", "-t", metavar="TASK", help=PATTERN_HELP)] = None,
    samples: Annotated[int, typer.Option(min=1, help="Answers to each task.")] = 1,
    repairs: Annotated[
        int, typer.Option(min=0, help="Prompt setting: turns to mend an answer that can't be put into the repository.")
    ] = 0,
    agent: Annotated[
        str,
        typer.Option(
            help="react, openhands, or, with lmrbench[agents], claude_code, codex_cli, gemini_cli, mini_swe_agent."
        ),
    ] = "react",
    agent_command: Annotated[
        str,
        typer.Option(
            help="Any agent: a command line, run in the workspace; OPENAI_BASE_URL and the like lead to MODEL."
        ),
    ] = "",
    turns: Annotated[int, typer.Option(min=1, help="Agent setting: the most generations for a task.")] = 50,
    sandbox: Annotated[
        Literal["bubblewrap", "docker"],
        typer.Option(help="Where agents work; answers are always graded under bubblewrap."),
    ] = "bubblewrap",
    shown: Annotated[
        str,
        typer.Option(
            metavar="DIRS", help="Folders that the agent's program needs, separated by colons; shown read-only."
        ),
    ] = "",
    temperature: Annotated[float | None, typer.Option(min=0, help="The provider's default if not given.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="The most tokens of one generation.")] = None,
    reasoning_effort: Annotated[str | None, typer.Option(help="low, medium, high: for models that reason.")] = None,
    model_arg: Annotated[
        list[str] | None, typer.Option("-M", metavar="KEY=VALUE", help="Passed to the provider.")
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="Of the provider's API.")] = None,
    connections: Annotated[int, typer.Option(min=1, help="Requests at once.")] = 10,
    token_limit: Annotated[int | None, typer.Option(min=1, help="The most tokens for a task.")] = None,
    time_limit: Annotated[int | None, typer.Option(min=1, help="The most seconds for a task.")] = None,
    cost_limit: Annotated[
        float | None, typer.Option(min=0, help="The most dollars for a task; needs --prices.")
    ] = None,
    prices: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Dollars per million tokens, by model; see docs/evaluate-a-model.md."),
    ] = None,
    system: Annotated[str | None, typer.Option(help="The name in tables and records; MODEL if not given.")] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**31 - 1, help="Of the cases, instead of this machine's own.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The run folder; by default below runs/. One that is there is gone on with."),
    ] = None,
    suite: SuiteOption = None,
    json: JsonOption = False,
) -> None:
    """Ask a model or an agent for every task, and grade what it answers.

    The run folder holds submissions.jsonl, grades.jsonl, usage.jsonl and Inspect's logs (`inspect view --log-dir
    DIR/logs`). The same command goes on where a killed run stopped, and asks nothing twice.
    """
    grades, usages, folder = _solved(**{name: value for name, value in locals().items() if name != "json"})
    if json:
        _print_json(grades, usages, folder)
    else:
        passed = sum(item.passed for item in grades)
        say(f"{passed} of {len(grades)} answers pass; the run is in {folder}")


def run(**options: Any) -> None:
    """Solve, grade, report: a table of rates with 95% intervals, per category, with costs and times.

    Without --model the systems that need none: golden (the reference), mask (nothing), and nearest, which copies the
    most similar function of the workspace.
    """
    as_json = options.pop("json")
    if options["model"] is None:
        grades, folder = _built_ins(options)
        usages: list[Usage] = []
    else:
        grades, usages, folder = _solved(**options)
    if as_json:
        _print_json(grades, usages, folder)
    else:
        _print_report(grades, usages, folder)


# A run takes what solve takes, and no model if need be.
_parameters = inspect.signature(solve, eval_str=True).parameters
run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [
        item.replace(default=None, annotation=Annotated[str | None, item.annotation.__metadata__[0]])
        if name == "model"
        else item
        for name, item in _parameters.items()
    ]
)
run.__annotations__ = {name: item.annotation for name, item in run.__signature__.parameters.items()}  # type: ignore[attr-defined]


def _solved(
    model: str,
    task: list[str] | None,
    suite: Path | None,
    out: Path | None,
    seed: int | None,
    system: str | None,
    temperature: float | None,
    max_tokens: int | None,
    reasoning_effort: str | None,
    model_arg: list[str] | None,
    base_url: str | None,
    connections: int,
    token_limit: int | None,
    time_limit: int | None,
    cost_limit: float | None,
    prices: Path | None,
    **conditions: Any,
) -> tuple[list[Grade], list[Usage], Path]:
    from lmrbench.errors import LmrbenchError, RecordError
    from lmrbench.grading.golden import installation_seed
    from lmrbench.grading.records import Solving, Usage, read_lines
    from lmrbench.grading.runs import USAGE
    from lmrbench.storage import locked

    try:
        from lmrbench.solving import runs
    except ImportError as error:
        raise LmrbenchError(f"asking models needs Inspect ({error}): pip install 'lmrbench[models]'") from error
    if cost_limit is not None and prices is None:
        raise RecordError("--cost-limit needs --prices")
    tasks = load_tasks(suite, task)
    generation = {"temperature": temperature, "max_tokens": max_tokens, "reasoning_effort": reasoning_effort}
    solving = Solving(
        model=model,
        system=system or model,
        generation={name: value for name, value in generation.items() if value is not None},
        **conditions,
    )
    name = re.sub(r"[^\w.-]+", "-", f"{solving.system}-{solving.setting}")
    folder = out or RUNS / name
    drawn = installation_seed() if seed is None else seed
    limits = {
        "model_base_url": base_url,
        "max_connections": connections,
        "max_samples": connections,
        "token_limit": token_limit,
        "time_limit": time_limit,
        "cost_limit": cost_limit,
    }
    if prices is not None:
        runs.set_prices(prices)
    with locked(folder), as_keyboard_interrupt():
        grades = runs.solve(
            folder=folder,
            solving=solving,
            tasks={item.id: item for item in tasks},
            suite=suite_folder(suite).resolve(),
            seed=drawn,
            model_args=dict(_model_argument(text) for text in model_arg or ()),
            limits={name: value for name, value in limits.items() if value is not None},
            display="rich" if sys.stderr.isatty() and sys.stdout.isatty() else "none",
            set_aside=lambda count: say_set_aside(folder, count),
        )
    return grades, read_lines(folder / USAGE, Usage), folder


def _model_argument(text: str) -> tuple[str, object]:
    from lmrbench.errors import RecordError

    key, separator, value = text.partition("=")
    if not separator:
        raise RecordError(f"-M {text}: is not of the form KEY=VALUE")
    try:
        return key, json_module.loads(value)
    except ValueError:
        return key, value


def _built_ins(options: dict[str, Any]) -> tuple[list[Grade], Path]:
    from lmrbench.grading.golden import installation_seed
    from lmrbench.grading.systems import BuiltIn, submissions_of

    suite, tasks = load_all_and_some(options["suite"], options["task"])
    systems: tuple[BuiltIn, ...] = ("golden", "mask", "nearest")
    submissions = [item for system in systems for item in submissions_of(system, tasks)]
    folder = options["out"] or RUNS / "built-in"
    seed = installation_seed() if options["seed"] is None else options["seed"]
    folder_of_suite = suite_folder(options["suite"])
    return grade_with_progress(folder, submissions, suite, (seed,), "bubblewrap", None, folder_of_suite), folder


def _print_json(grades: list[Grade], usages: list[Usage], folder: Path) -> None:
    from lmrbench.analysis.report import costs, rates

    overall, categories = rates(grades, lambda item: "all"), rates(grades, lambda item: item.category)
    print_json(
        {
            "run": str(folder),
            "rates": {
                group: {system: item.model_dump() for system, item in of_systems.items()}
                for group, of_systems in {**overall, **categories}.items()
            },
            "costs": {system: item.model_dump() for system, item in costs(usages).items()},
            "grades": [item.model_dump(mode="json") for item in grades],
            "usage": [item.model_dump(mode="json") for item in usages],
        }
    )


def _print_report(grades: list[Grade], usages: list[Usage], folder: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    from lmrbench.analysis.report import costs, rates

    console: Console = Console()
    table = Table("Category", "System", title="Answers that pass, with 95% Wilson intervals over tasks")
    for name in ("tasks", "answers", "passed", "interval", "cases"):
        table.add_column(name, justify="right")
    groups = rates(grades, lambda item: item.category) | rates(grades, lambda item: "all")
    for group, of_systems in groups.items():
        table.add_section()
        for system, item in of_systems.items():
            interval = f"{item.low:.0%} to {item.high:.0%}"
            counts = (str(item.tasks), str(item.answers), f"{item.passed:.1%}", interval, f"{item.cases:.1%}")
            table.add_row(cell(group), cell(system), *counts)
    console.print(table)
    for system, cost in costs(usages).items():
        dollars = f", ${cost.dollars:.4f}" if cost.dollars is not None else ""
        tokens = f"{cost.input_tokens:,} tokens in, {cost.output_tokens:,} out"
        say(f"{system}: {tokens}{dollars}; {cost.seconds:.1f} s an answer")
    say(f"{len(grades)} grades in {folder}")
