"""An Inspect scorer in which a language model, the judge, rates the submissions in a log.

The log must be one that `lmrbench run` or `inspect eval lmrbench/lmr_bench` wrote. The scorer uses the prompts and the
records of `lmrbench judge`. A sample is left unscored, with a warning, if its votes have no majority or if no code can
be extracted from its answer. The judge is never shown the failed cases, because its messages are stored in the log, and
a log must not reveal any part of a check.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from logging import getLogger
from typing import Any

import anyio.to_thread
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Score, Scorer, Target, categorical, scorer
from inspect_ai.solver import TaskState
from inspect_ai.util import store
from pydantic import ValidationError

from lmrbench.errors import LmrbenchError, RecordError, SubmissionError, UsageError
from lmrbench.judging.asking import ask, code_to_judge, judge_prompts, judgement
from lmrbench.judging.ballots import ballots
from lmrbench.judging.plan import judging_plan
from lmrbench.models.opening import open_model
from lmrbench.models.reachability import Reachability
from lmrbench.models.settings import Settings
from lmrbench.records import read_record
from lmrbench.runs.records import CATEGORIES, Judgement, VoteKey
from lmrbench.solving.scoring import SUBMISSION, suite_tasks
from lmrbench.solving.task import OptionError
from lmrbench.tasks.digests import grading_digest
from lmrbench.tasks.loading import suite_folder
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Submission
from lmrbench.text import printable

_logger = getLogger(__name__)
# The options of `lmrbench judge` that the scorer accepts.
OPTIONS = ("votes", "swap", "strip_comments", "protocol", "temperature")


@scorer(metrics=categorical(CATEGORIES))
def judge(model: str = "", suite: str = "", **options: Any) -> Scorer:
    """Have a language model rate the submissions in a log.

    The values of the score are CC (completely correct), LC (logic correct, implementation faulty) and LI (logic
    incorrect), and the metrics are their shares.

    Args:
        model: The judge, in Inspect's notation.
        suite: One of core, real, live and all, or the folder of your own suite.
        options: Values of the options in `OPTIONS`, such as `votes=3` or `swap=true`.

    Raises:
        OptionError: An option has an invalid value.
    """
    try:
        if not model:
            raise UsageError("model= is missing; name the judge, such as model=openai/gpt-5")
        if unknown := sorted(options.keys() - set(OPTIONS)):
            raise UsageError(f"there is no option {unknown[0]}=; use model, suite, {', '.join(OPTIONS)}")
        plan = judging_plan(**options)
        settings = Settings(model=model)
        judge_model = open_model(settings)
        tasks = suite_tasks(str(suite_folder(suite).resolve()))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        message = first["msg"].replace("Input should", "must")
        raise OptionError(f"{first['loc'][0]}={first['input']}: {message}") from error
    except LmrbenchError as error:
        raise OptionError(str(error)) from error

    config = GenerateConfig(**settings.requests())
    reachability = Reachability()

    async def score(state: TaskState, target: Target) -> Score:
        try:
            task, submission = _solved(state, tasks)
            candidate = await anyio.to_thread.run_sync(code_to_judge, task, submission, plan)
        except RecordError as error:
            return _unscored(state, "scoring_failed", str(error))
        except SubmissionError as error:
            return _unscored(state, "invalid_response_format", f"no code to judge: {error}")
        judgements = []
        for prompt in judge_prompts(task, submission, candidate, plan):
            for number in range(plan.votes):
                vote = await ask(judge_model, prompt.message, config, reachability, plan)
                key = VoteKey(plan.name_of(judge_model), number, prompt.digest)
                judgements.append(judgement(prompt, key, plan, vote))
        return _score(state, judgements)

    return score


def _solved(state: TaskState, tasks: Mapping[str, Task]) -> tuple[Task, Submission]:
    """Return the task and the submission of a sample; raise RecordError if they are missing or don't match."""
    noted = store().get(SUBMISSION)
    if noted is None:
        raise RecordError("the log contains no submission")
    submission = read_record(json.dumps(noted).encode(), Submission, "the log")
    task = tasks.get(submission.task)
    if task is None:
        raise RecordError(f"{submission.task}: no such task in the suite; choose another suite with suite=")
    if state.metadata.get("task_digest") != grading_digest(task):
        raise RecordError(f"{task.id}: the suite's version of the task differs from the version that was solved")
    return task, submission


def _score(state: TaskState, judgements: Sequence[Judgement]) -> Score:
    """Return a score whose value is the majority of one judge's votes on a submission."""
    (ballot,) = ballots(judgements)
    facts = {"judge": ballot.judge, "votes": [item.model_dump(mode="json") for item in judgements]}
    if not ballot.cast:
        return _unscored(state, "grader_failed", "; ".join(map(_said, judgements)), facts)
    if ballot.majority is None:
        return _unscored(state, "tie", f"the votes are {', '.join(ballot.cast)}", facts)
    return Score(value=ballot.majority, explanation="\n".join(map(_said, judgements)), metadata=facts)


def _said(item: Judgement) -> str:
    """Return a judgement as one line."""
    if item.category is None:
        return f"{item.status}: {item.detail}"
    error_class = f" ({item.error_class})" if item.error_class else ""
    return f"{item.category}{error_class}: {' '.join((*item.logic, *item.implementation, *item.rationale))}"


def _unscored(state: TaskState, reason: str, why: str, facts: dict[str, Any] | None = None) -> Score:
    _logger.warning(f"{state.sample_id}, epoch {state.epoch}: left unscored: {printable(why)}")
    return Score.unscored(reason=reason, explanation=why, metadata=facts)
