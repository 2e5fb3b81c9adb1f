"""`lmrbench solve` and `lmrbench run`: what does a model or an agent answer, and how good is that?"""

from __future__ import annotations

import inspect
import json as json_module
import re
import sys
from collections import Counter
from collections.abc import Iterable
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
    from rich.table import Table

    from lmrbench.analysis.report import Rate
    from lmrbench.grading.records import Grade, Usage
    from lmrbench.solving.runs import Run


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
    retries: Annotated[
        int, typer.Option(min=0, help="How often a call that failed is tried again, with growing waits.")
    ] = 7,
    patience: Annotated[
        int,
        typer.Option(min=1, help="Seconds after which a call that does not answer, or only fails, is given up."),
    ] = 900,
    token_limit: Annotated[int | None, typer.Option(min=1, help="The most tokens for a task.")] = None,
    time_limit: Annotated[
        int | None, typer.Option(min=1, help="The most seconds of work for a task; waiting for the provider is none.")
    ] = None,
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
    DIR/logs`). The same command goes on where a killed run stopped, and asks nothing twice. Where the provider or an
    agent's program failed, nothing is counted, and the command exits with 2; again, the same command goes on.
    """
    done, category = _solved(**{name: value for name, value in locals().items() if name != "json"})
    if json:
        _print_json(done.grades, done.usages, done.folder, category)
    else:
        passed = sum(item.passed for item in done.grades)
        say(f"{passed} of {len(done.grades)} answers pass; the run is in {done.folder}")
    done.finished()


def run(**options: Any) -> None:
    """Solve, grade, report: rates with 95% intervals, per category and task, how answers ended, costs and times.

    Without --model the systems that need none: golden (the reference), mask (nothing), and nearest, which copies the
    most similar function of the workspace.
    """
    show = _print_json if options.pop("json") else _print_report
    if options["model"] is None:
        show(*_built_ins(options))
        return
    done, category = _solved(**options)
    show(done.grades, done.usages, done.folder, category)
    done.finished()


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


# What applies in the agent setting alone, and in the prompt setting alone.
_AGENTS, _PROMPTS = ("agent", "agent_command", "turns", "sandbox", "shown"), ("repairs",)
# What `run` without a model takes.
_WITHOUT_MODEL = ("model", "task", "seed", "out", "suite")


def _refuse(options: dict[str, Any], names: Iterable[str], why: str) -> None:
    from lmrbench.errors import RecordError

    for name in names:
        if options[name] != _parameters[name].default:
            raise RecordError(f"--{name.replace('_', '-')} {why}")


def _solved(**options: Any) -> tuple[Run, dict[str, str]]:
    """What a run folder holds now, and the category of each task."""
    from lmrbench.errors import LmrbenchError, RecordError
    from lmrbench.grading.golden import installation_seed
    from lmrbench.grading.records import Solving
    from lmrbench.storage import locked

    if options["setting"] == "prompt":
        _refuse(options, _AGENTS, "is for --setting agent")
    else:
        _refuse(options, _PROMPTS, "is for --setting prompt")
    if options["agent_command"]:
        _refuse(options, ("agent",), "can't be used together with --agent-command")
    if options["cost_limit"] is not None and options["prices"] is None:
        raise RecordError("--cost-limit needs --prices")
    try:
        from lmrbench.solving import runs
    except ImportError as error:
        raise LmrbenchError(f"asking models needs Inspect ({error}): pip install 'lmrbench[models]'") from error
    tasks = {item.id: item for item in load_tasks(options["suite"], options["task"])}
    name = options["model"]
    generation = _given(options, "temperature", "max_tokens", "reasoning_effort")
    model_args = dict(_model_argument(text) for text in options["model_arg"] or ())
    prices = runs.set_prices(options["prices"], name) if options["prices"] is not None else {}
    if options["cost_limit"] is not None and not prices:
        raise RecordError(f"--cost-limit: {options['prices']} has no prices of {name}")
    model = runs.open_model(name, options["base_url"], model_args, generation)
    limits = _given(options, "token_limit", "time_limit", "cost_limit")
    solving = Solving(
        model=name,
        system=options["system"] or name,
        generation=generation,
        base_url=runs.address(model),
        model_args={key: "not recorded" if _SECRET.search(key) else value for key, value in model_args.items()},
        limits={key.removesuffix("_limit"): value for key, value in limits.items()},
        prices=prices,
        **{key: options[key] for key in ("setting", "inputs", "paper", "samples", *_AGENTS, *_PROMPTS)},
    )
    folder = options["out"] or RUNS / re.sub(r"[^\w.-]+", "-", f"{solving.system}-{solving.setting}")
    with locked(folder), as_keyboard_interrupt():
        done = runs.solve(
            folder=folder,
            solving=solving,
            model=model,
            tasks=tasks,
            suite=suite_folder(options["suite"]).resolve(),
            seed=installation_seed() if options["seed"] is None else options["seed"],
            options={
                "max_connections": options["connections"],
                "max_samples": options["connections"],
                "max_retries": options["retries"],
                "timeout": options["patience"],
                "attempt_timeout": options["patience"],
            },
            display="rich" if sys.stderr.isatty() and sys.stdout.isatty() else "none",
            set_aside=lambda count: say_set_aside(folder, count),
        )
    return done, {item.id: item.category for item in tasks.values()}


def _given(options: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: options[name] for name in names if options[name] is not None}


_SECRET = re.compile("key|token|secret|password|credential|header", re.I)


def _model_argument(text: str) -> tuple[str, Any]:
    from lmrbench.errors import RecordError

    key, separator, value = text.partition("=")
    if not separator:
        raise RecordError(f"-M {text}: is not of the form KEY=VALUE")
    try:
        return key, json_module.loads(value)
    except ValueError:
        return key, value


def _built_ins(options: dict[str, Any]) -> tuple[list[Grade], list[Usage], Path, dict[str, str]]:
    from lmrbench.grading.golden import installation_seed
    from lmrbench.grading.systems import BuiltIn, submissions_of

    _refuse(options, options.keys() - set(_WITHOUT_MODEL), "needs --model")
    suite, tasks = load_all_and_some(options["suite"], options["task"])
    systems: tuple[BuiltIn, ...] = ("golden", "mask", "nearest")
    submissions = [item for system in systems for item in submissions_of(system, tasks)]
    folder = options["out"] or RUNS / "built-in"
    seed = installation_seed() if options["seed"] is None else options["seed"]
    folder_of_suite = suite_folder(options["suite"])
    grades = grade_with_progress(folder, submissions, suite, (seed,), "bubblewrap", None, folder_of_suite)
    return grades, [], folder, {item.id: item.category for item in tasks}


def _print_json(grades: list[Grade], usages: list[Usage], folder: Path, category: dict[str, str]) -> None:
    from lmrbench.analysis.report import costs, rates, statuses

    groups = rates(grades, usages, lambda task: "all") | rates(grades, usages, category.__getitem__)
    print_json(
        {
            "run": str(folder),
            "rates": {
                group: {system: item.model_dump() for system, item in of_systems.items()}
                for group, of_systems in groups.items()
            },
            "statuses": statuses(usages),
            "costs": {system: item.model_dump() for system, item in costs(usages).items()},
            "grades": [item.model_dump(mode="json") for item in grades],
            "usage": [item.model_dump(mode="json") for item in usages],
        }
    )


def _print_report(grades: list[Grade], usages: list[Usage], folder: Path, category: dict[str, str]) -> None:
    from rich.console import Console

    from lmrbench.analysis.report import costs, rates, statuses

    console: Console = Console()
    by_task = rates(grades, usages, lambda task: task)
    systems = list(dict.fromkeys(system for of_systems in by_task.values() for system in of_systems))
    if len(systems) == 1:
        console.print(_answers(grades, usages))
    else:
        console.print(_shares(by_task, systems))
    groups = rates(grades, usages, category.__getitem__) | rates(grades, usages, lambda task: "all")
    console.print(_intervals(groups))
    for system, counts in statuses(usages).items():
        ended = ", ".join(f"{status.replace('_', ' ')} {count}" for status, count in counts.items())
        say(f"{system}: {groups['all'][system]}")
        say(f"{system}: {ended}")
    for system, cost in costs(usages).items():
        dollars = f", ${cost.dollars:.4f}" if cost.dollars is not None else ""
        tokens = f"{cost.input_tokens:,} tokens in, {cost.output_tokens:,} out"
        say(f"{system}: {tokens}{dollars}; {cost.seconds:.1f} s of work a sample")
    say(f"{len(grades)} grades in {folder}")


def _answers(grades: list[Grade], usages: list[Usage]) -> Table:
    """One system, task by task: how its answers ended, and how many pass."""
    from rich.table import Table

    table = Table("Task", "Ended", title="Answers, by task")
    table.add_column("passed", justify="right")
    for task in sorted({item.task for item in usages}):
        ended = Counter(item.status.replace("_", " ") for item in usages if item.task == task)
        passed = [item.passed for item in grades if item.task == task]
        what = ", ".join(name if count == 1 else f"{count} {name}" for name, count in ended.most_common())
        table.add_row(cell(task), what, f"{sum(passed)}/{len(passed)}" if passed else "-")
    return table


def _shares(by_task: dict[str, dict[str, Rate]], systems: list[str]) -> Table:
    """Several systems, task by task: how many of their answers pass."""
    from rich.table import Table

    table = Table("Task", title="Answers that pass, by task")
    for system in systems:
        table.add_column(cell(system), justify="right")
    for task, of_systems in by_task.items():
        found = [of_systems.get(system) for system in systems]
        table.add_row(cell(task), *(f"{item.passes}/{item.answers}" if item else "-" for item in found))
    return table


def _intervals(groups: dict[str, dict[str, Rate]]) -> Table:
    from rich.table import Table

    systems = list(dict.fromkeys(system for of_systems in groups.values() for system in of_systems))
    several = ["System"] if len(systems) > 1 else []
    table = Table("Category", *several, title="Answers that pass, with 95% Wilson intervals over tasks")
    for name in ("tasks", "passed", "interval", "cases"):
        table.add_column(name, justify="right")
    for group, of_systems in groups.items():
        table.add_section()
        for system, item in of_systems.items():
            interval, cases = "-", "-"
            if item.low is not None and item.high is not None and item.cases is not None:
                interval, cases = f"{item.low:.0%} to {item.high:.0%}", f"{item.cases:.1%}"
            passed = f"{item.passes}/{item.answers}" + (f" = {item.passed:.1%}" if item.passed is not None else "")
            if item.unanswered:
                passed += f" [{item.passed_with_unanswered:.1%}]"
            named = [cell(system)] if several else []
            table.add_row(cell(group), *named, str(item.tasks), cell(passed), interval, cases)
    return table
