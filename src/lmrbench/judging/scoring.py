"""A judge as a scorer of Inspect, over logs that `lmrbench run` or `inspect eval lmrbench/lmr_bench` wrote.

It asks as `lmrbench judge` does, and keeps each vote as the same record. What is no category is no score: a sample
whose votes have no majority, or of which there is nothing to judge, is left unscored, and a warning says why.

Evidence of failed cases is not told here: the judge's message stands in the log, and nothing of a check gets there.
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
from lmrbench.grading.reading import read_excerpts
from lmrbench.judging.asking import Terms, ask, judgement, texts
from lmrbench.judging.ballots import ballots
from lmrbench.models.reachability import Reachability
from lmrbench.records import read_record
from lmrbench.runs.records import CATEGORIES, Judgement, VoteKey
from lmrbench.solving.run import open_model
from lmrbench.solving.scoring import SUBMISSION, suite_tasks
from lmrbench.solving.settings import Settings
from lmrbench.solving.task import OptionError
from lmrbench.tasks.digests import grading_digest
from lmrbench.tasks.loading import suite_folder
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Submission
from lmrbench.text import printable

_logger = getLogger(__name__)
# As the command names them.
OPTIONS = ("votes", "swap", "strip_comments")


@scorer(metrics=categorical(CATEGORIES))
def judge(model: str = "", suite: str = "", **options: Any) -> Scorer:
    """What a language model says of the submissions in a log: CC, LC or LI; the metrics are the share of each.

    Args:
        model: The judge, as Inspect names it.
        suite: core, real, all, or the folder of a suite of your own.
        options: Those of `lmrbench judge` that are in `OPTIONS`, such as `votes=3` or `swap=true`.
    """
    try:
        if not model:
            raise UsageError("model= is needed: who is to judge, as openai/gpt-5")
        if unknown := sorted(options.keys() - set(OPTIONS)):
            raise UsageError(f"{unknown[0]}=: there is no such option; there are model, suite, {', '.join(OPTIONS)}")
        terms = Terms(**options)
        settings = Settings(model=model)
        asked = open_model(settings)
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
            candidate = await anyio.to_thread.run_sync(read_excerpts, task, submission, terms.strip_comments)
        except RecordError as error:
            return _unscored(state, "scoring_failed", str(error))
        except SubmissionError as error:
            return _unscored(state, "invalid_response_format", f"nothing can be judged: {error}")
        judgements = []
        for text in texts(task, submission, candidate, terms):
            for number in range(terms.votes):
                vote = await ask(asked, text.message, config, reachability)
                judgements.append(judgement(text, VoteKey(str(asked), number, text.digest), terms, vote))
        return _score(state, judgements)

    return score


def _solved(state: TaskState, tasks: Mapping[str, Task]) -> tuple[Task, Submission]:
    """What was solved in a sample, and its submission. Raises RecordError where they are not there, or don't match."""
    noted = store().get(SUBMISSION)
    if noted is None:
        raise RecordError("the log holds no submission of it")
    submission = read_record(json.dumps(noted).encode(), Submission, "the log")
    task = tasks.get(submission.task)
    if task is None:
        raise RecordError("the suite holds no such task; suite= names another one")
    if state.metadata.get("task_digest") != grading_digest(task):
        raise RecordError("the suite holds another version of the task than the one that was solved")
    return task, submission


def _score(state: TaskState, judgements: Sequence[Judgement]) -> Score:
    """The category that most of the votes of one judge on one submission give."""
    (ballot,) = ballots(judgements)
    facts = {"judge": ballot.judge, "votes": [item.model_dump(mode="json") for item in judgements]}
    if not ballot.cast:
        return _unscored(state, "grader_failed", "; ".join(map(_said, judgements)), facts)
    if ballot.majority is None:
        return _unscored(state, "tie", f"the votes are {', '.join(ballot.cast)}", facts)
    return Score(value=ballot.majority, explanation="\n".join(map(_said, judgements)), metadata=facts)


def _said(item: Judgement) -> str:
    """One line."""
    if item.category is None:
        return f"{item.status}: {item.detail}"
    error_class = f" ({item.error_class})" if item.error_class else ""
    return f"{item.category}{error_class}: {' '.join((*item.logic, *item.implementation))}"


def _unscored(state: TaskState, reason: str, why: str, facts: dict[str, Any] | None = None) -> Score:
    _logger.warning(f"{state.sample_id}, epoch {state.epoch}: left unscored: {printable(why)}")
    return Score.unscored(reason=reason, explanation=why, metadata=facts)
