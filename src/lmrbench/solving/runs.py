"""One system over the suite: asked through Inspect's `eval_set`, graded as it answers, written into a run folder.

The folder holds what `lmrbench grade` writes, `usage.jsonl`, Inspect's logs in `logs/`, and in `cache/` every answer of
a model, so that a run which was killed asks nothing twice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from inspect_ai import eval_set
from inspect_ai.event import ModelEvent
from inspect_ai.log import EvalLog, EvalSample, list_eval_logs, read_eval_log
from inspect_ai.model import CachePolicy, ModelCost, ModelInfo, ModelUsage, get_model_info, set_model_info

from lmrbench.errors import LmrbenchError, RecordError
from lmrbench.grading.records import Grade, Solving, Usage, read_lines
from lmrbench.grading.runs import (
    SUBMISSIONS,
    USAGE,
    grade_into,
    read_facts,
    run_facts,
    write_facts,
    write_submissions,
)
from lmrbench.sandbox.doctor import make_sandbox
from lmrbench.sandbox.pool import WorkerPool
from lmrbench.solving.scoring import run_folder_of_solve
from lmrbench.solving.task import lmr_bench
from lmrbench.storage import write_whole
from lmrbench.tasks.loading import load_suite
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Submission

LOGS, CACHE = "logs", "cache"
# Each price, and what it is where it is not named.
_PRICES = {"input": "input", "output": "output", "input_cache_read": "input", "input_cache_write": "input"}


class UnfinishedError(LmrbenchError):
    """Some tasks were not answered, through no fault of the model. The same command asks them again."""


def set_prices(file: Path) -> None:
    """Make known what models cost: a JSON object from model to dollars per million tokens.

    Each names `input` and `output`, and may name `input_cache_read` and `input_cache_write`, which cost as much as
    `input` otherwise. Raises RecordError, naming the model, for a file that is not of this form.
    """
    try:
        table = json.loads(file.read_text("utf-8"))
        for model, prices in table.items():
            if unknown := prices.keys() - _PRICES.keys():
                raise ValueError(f"{model}: {min(unknown)}: unknown; there are {', '.join(_PRICES)}")
            cost = ModelCost(**{name: prices.get(name, prices[default]) for name, default in _PRICES.items()})
            known = get_model_info(model) or ModelInfo()
            set_model_info(model, known.model_copy(update={"cost": cost}))
    except KeyError as error:
        raise RecordError(f"{file}: {model}: {error.args[0]} is missing") from error
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise RecordError(f"{file}: {error}") from error


def solve(
    folder: Path,
    solving: Solving,
    tasks: Mapping[str, Task],
    suite: Path,
    seed: int,
    model_args: Mapping[str, Any],
    limits: Mapping[str, Any],
    display: str,
    set_aside: Callable[[int], None] = lambda count: None,
) -> list[Grade]:
    """Have every task answered and graded that is not yet; the grades, once all are there.

    model_args: of the provider. limits: further arguments of Inspect's `eval_set`: tokens, time, cost,
    connections. display: Inspect's. set_aside: see `grading.runs.grade_into`. Raises RecordError where the folder holds
    a run under other conditions, UnfinishedError where some answers could not be had.
    """
    before = read_facts(folder)
    if before is not None and before.solving != solving:
        asked = before.solving.model_dump() if before.solving else {}
        other = [key for key, value in solving.model_dump().items() if asked.get(key) != value]
        raise RecordError(f"{folder}: is a run with another {', '.join(other)}; name another folder with --out")
    every_task = {task.id: task for task in load_suite(suite)}
    write_facts(folder, run_facts(every_task.values(), tasks.values(), [seed], "bubblewrap", solving))
    os.environ["INSPECT_CACHE_DIR"] = str((folder / CACHE).resolve())
    wanted = lmr_bench(
        setting=solving.setting,
        inputs=solving.inputs,
        paper=solving.paper,
        tasks=",".join(tasks),
        samples=solving.samples,
        repairs=solving.repairs,
        agent=solving.agent,
        agent_command=solving.agent_command,
        turns=solving.turns,
        sandbox=solving.sandbox,
        shown=solving.shown,
        seed=seed,
        suite=str(suite),
        system=solving.system,
    )
    arguments: dict[str, Any] = {**solving.generation, **limits}
    run_folder_of_solve.set(folder)
    success, logs = eval_set(
        wanted,
        log_dir=str(folder / LOGS),
        model=solving.model,
        model_args=dict(model_args),
        display=display,  # type: ignore[arg-type]
        # Every sample is on the disk as soon as it is done.
        log_buffer=1,
        log_realtime=False,
        # A sample that fails does not end the others, and is tried once more before it is the user's turn.
        fail_on_error=True,
        continue_on_fail=True,
        retry_attempts=1,
        log_dir_allow_dirty=True,
        cache=CachePolicy(expiry=None),
        **arguments,
    )
    write_usage(folder, solving.system)
    # A sample whose log was lost in a kill was handed in again: the last one counts.
    submissions = {(item.task, item.sample): item for item in read_lines(folder / SUBMISSIONS, Submission)}
    write_submissions(folder, list(submissions.values()))
    expected = len(tasks) * solving.samples
    # Those of this run under its own seed; what was graded under other seeds since, or elsewhere, is graded again.
    with WorkerPool(make_sandbox("bubblewrap", [suite])) as pool:
        grades = list(grade_into(folder, list(submissions.values()), every_task, (seed,), pool, set_aside=set_aside))
    if not success or len(grades) < expected:
        raise UnfinishedError(
            f"{folder}: {len(grades)} of {expected} answers are there{_first_error(logs)}; "
            "run the same command again to ask for the others"
        )
    return grades


def write_usage(folder: Path, system: str) -> list[Usage]:
    """Write what each answer cost, as the logs have it, to `usage.jsonl`."""
    usages = {(item.task, item.sample): item for item in _usages(folder, system)}
    lines = "".join(item.model_dump_json() + "\n" for _, item in sorted(usages.items()))
    write_whole(folder / USAGE, lines.encode())
    return list(usages.values())


def _usages(folder: Path, system: str) -> Iterator[Usage]:
    for info in list_eval_logs(str(folder / LOGS), descending=False):
        for sample in read_eval_log(info).samples or []:
            if sample.error is None:
                yield _usage(sample, system)


def _usage(sample: EvalSample, system: str) -> Usage:
    # An answer out of the cache was paid for too, before the run was killed.
    calls = [event.output.usage for event in sample.events if isinstance(event, ModelEvent)]
    total = sum((usage for usage in calls if usage is not None), ModelUsage())
    return Usage(
        system=system,
        task=str(sample.id),
        sample=sample.epoch - 1,
        calls=len(calls),
        input_tokens=total.input_tokens + (total.input_tokens_cache_read or 0) + (total.input_tokens_cache_write or 0),
        output_tokens=total.output_tokens,
        dollars=total.total_cost,
        seconds=sample.total_time or 0.0,
        limit=sample.limit.type if sample.limit else "",
        cut=tuple(sorted(sample.metadata.get("cut", {}))),
    )


def _first_error(logs: list[EvalLog]) -> str:
    for log in logs:
        if log.error is not None:
            return f" ({log.error.message.splitlines()[0][:200]})"
        for sample in read_eval_log(log.location).samples or [] if log.location else []:
            if sample.error is not None:
                return f" ({sample.id}: {sample.error.message.splitlines()[0][:200]})"
    return ""
