"""How did an answer end, and whose fault is it?

The model's fault is a score, the machinery's fault is never a score. `judged` says how an answer ended that is to be
graded: a refusal, a filtered, empty or truncated answer are the model's, a limit is the user's or the model's own
context. `unanswered` says why there is nothing to grade: the provider failed, the agent's program did not run, or this
machine is at fault. The text of a provider's error never becomes a submission.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from inspect_ai.event import Event, ModelEvent, SampleLimitEvent, SpanBeginEvent
from inspect_ai.log import EvalSample
from inspect_ai.model import ContentText, ModelOutput

from lmrbench.errors import LmrbenchError
from lmrbench.runs.records import AnswerStatus

# Where a sample's store holds the limit that ended it, and why it was left unanswered.
LIMIT, UNANSWERED = "lmrbench:limit", "lmrbench:unanswered"
MOST_CHARACTERS = 300
# What Inspect notes of a call that was ended from this side.
_CANCELLED = re.compile("model call cancelled|cancelled by limit", re.I)
_TOO_LONG = re.compile(
    r"context.?(length|window|size)|(prompt|input) is too long|too many (input|prompt) tokens|exceeds? .{0,60}tokens",
    re.I | re.S,
)
# Errors that speak of tokens too, but of how many come in a minute or how many are asked for.
_NOT_THE_INPUT = re.compile(
    r"\b(429|5\d\d)\b|rate.?limit|quota|per.(minute|day)|max(_completion)?_tokens.{0,40}too", re.I
)


class UnansweredError(LmrbenchError):
    """There is no answer to grade, through no fault of the model. The sample is to be asked again."""

    status: AnswerStatus = "machine_error"


class ProviderError(UnansweredError):
    """The provider did not answer, or with an error."""

    status: AnswerStatus = "provider_error"


class AgentCrashError(UnansweredError):
    """The agent's program ended with an error before any call of the model succeeded."""

    status: AnswerStatus = "agent_crash"


@dataclass(frozen=True)
class Ending:
    """How an answer ended. detail: why, in one line, where the status alone does not say it."""

    status: AnswerStatus
    detail: str = ""


def one_line(text: str) -> str:
    """The beginning of a message, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]}..."


def model_calls(events: Sequence[Event]) -> list[ModelEvent]:
    """The calls of the model that came to an end of their own, in order; each attempt is one.

    What scorers call, such as a judge, comes after all of them and is left out.
    """
    return [
        event
        for event in takewhile(lambda event: not _begins_scoring(event), events)
        if isinstance(event, ModelEvent) and not event.pending and not _CANCELLED.search(event.error or "")
    ]


def _begins_scoring(event: Event) -> bool:
    return isinstance(event, SpanBeginEvent) and event.name == "scorers"


def turns(events: Sequence[Event]) -> list[ModelEvent]:
    """The calls of the model that succeeded, in order."""
    return [call for call in model_calls(events) if not call.error]


def failure(call: ModelEvent) -> str:
    """The error that a call ended with, in one line; "" if it succeeded."""
    timeout = re.search(r"attempt_timeout '(\d+)'", call.error or "")
    return f"no answer within {timeout[1]} s" if timeout else one_line(call.error or "")


def provider_fault(events: Sequence[Event]) -> str:
    """The error of the provider with which the last call ended; "" if it succeeded or the input was too long."""
    calls = model_calls(events)
    return failure(calls[-1]) if calls and not too_long(calls[-1].error or "") else ""


def unheard(events: Sequence[Event]) -> str:
    """Why there is nothing of the model where time ended a sample before any call came back; "" otherwise."""
    return "" if model_calls(events) else "no call of the model came back before the limit of time"


def ended_by_limit(events: Sequence[Event], noted: str | None) -> str:
    """The kind of limit that ended a sample, "" if none did. noted: what its store holds under `LIMIT`."""
    return noted or next((event.type for event in reversed(events) if isinstance(event, SampleLimitEvent)), "")


def answer_text(events: Sequence[Event]) -> str:
    """What the model said last, as a submission: "" for a refusal and for the text of a provider's error."""
    calls = model_calls(events)
    output = calls[-1].output if calls and not calls[-1].error else None
    if output is None or of_output(output).status in ("limit", "refused") or not _generated(output):
        return ""
    return output.completion


def declined(events: Sequence[Event]) -> str:
    """What the model said instead of an answer, or what kept it back; "" for a model that answered."""
    calls = model_calls(events)
    ended = of_output(calls[-1].output) if calls and not calls[-1].error else Ending("answered")
    what = {"refused": "the model refused", "filtered": "the answer was filtered"}.get(ended.status, "")
    return f"{what}: {ended.detail}" if what and ended.detail else what


def judged(events: Sequence[Event], limit: str, refusal: str, untouched: bool) -> Ending:
    """How an answer ended that is to be graded.

    refusal: why nothing can be read out of it, "" if something can. untouched: an agent left the goal file as it was.
    """
    calls = model_calls(events)
    if calls and too_long(calls[-1].error or ""):
        return Ending("limit", failure(calls[-1]))
    if limit:
        return Ending("limit", f"limit of {limit}" + (f"; {refusal}" if refusal else ""))
    ended = of_output(calls[-1].output) if calls else Ending("empty")
    if ended.status == "limit":
        return ended
    if untouched:
        return ended if ended.status in ("refused", "filtered", "truncated") else Ending("empty", "nothing was changed")
    if refusal:
        return (
            Ending("unusable", refusal) if ended.status == "answered" else Ending(ended.status, ended.detail or refusal)
        )
    # A truncated or filtered answer may still hold all that is asked for; an agent need not say anything in the end.
    return ended if ended.status in ("truncated", "filtered", "refused") else Ending("answered")


def unanswered(sample: EvalSample) -> Ending:
    """Why a sample of a log has no score."""
    if noted := sample.store.get(UNANSWERED):
        return Ending(noted["status"], noted["detail"])
    if fault := provider_fault(sample.events):
        return Ending("provider_error", fault)
    return Ending("machine_error", one_line(sample.error.message) if sample.error else "it has no score")


def of_output(output: ModelOutput) -> Ending:
    """How one call of the model ended, by its output alone."""
    if not output.choices:
        return Ending("empty")
    details, content, generated = output.choices[0].stop_details, output.message.content, _generated(output)
    refuses = not isinstance(content, str) and any(isinstance(item, ContentText) and item.refusal for item in content)
    declines = output.stop_reason == "content_filter" and details is not None and details.type == "refusal"
    said = one_line((details and details.explanation) or output.completion)
    if output.stop_reason == "model_length" and not generated:
        return Ending("limit", said)
    if refuses or (declines and generated):
        return Ending("refused", said)
    if output.stop_reason == "content_filter":
        return Ending("filtered", "" if generated and details is None else said)
    if output.stop_reason in ("max_tokens", "model_length"):
        return Ending("truncated")
    return Ending("answered") if output.message.tool_calls or output.completion.strip() else Ending("empty")


def _generated(output: ModelOutput) -> bool:
    """Whether the model wrote this. Inspect makes outputs of some errors too, which have used no tokens."""
    return output.stop_reason not in ("model_length", "content_filter") or output.usage is not None


def too_long(error: str) -> bool:
    """Whether a call failed with this error because its input does not fit the model."""
    return bool(_TOO_LONG.search(error)) and not _NOT_THE_INPUT.search(error)
