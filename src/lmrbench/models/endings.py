"""Classify how an answer ended, and decide whether the model is at fault.

A fault of the model counts against it; a fault of the provider, the agent's program or this machine never does.
`answer_ending` describes an answer that is graded. Answers that are refused, filtered, empty or truncated are the
model's fault, and so are answers that ended at a limit set by the user or at the limit of the model's context.
`unanswered_ending` gives the reason why there is no answer to grade. The text of a provider's error is never used as
a submission.

lmrbench calls models through the framework Inspect. Inspect logs each attempt at a task as a sample, with its events.
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

# Keys in the key-value store of a sample: the limit that ended it, and the reason why it has no answer.
LIMIT, UNANSWERED = "lmrbench:limit", "lmrbench:unanswered"
# The maximum length of a one-line message, in characters.
MOST_CHARACTERS = 300
# Matches Inspect's error texts for calls that this process cancelled.
_CANCELLED = re.compile("model call cancelled|cancelled by limit", re.I)
# Matches error texts of providers for an input that does not fit the model's context.
_TOO_LONG = re.compile(
    r"context.?(length|window|size)|(prompt|input) is too long|too many (input|prompt) tokens|exceeds? .{0,60}tokens",
    re.I | re.S,
)
# Matches error texts that mention tokens but are about rates, quotas or the requested output length.
_NOT_THE_INPUT = re.compile(
    r"\b(429|5\d\d)\b|rate.?limit|quota|per.(minute|day)|max(_completion)?_tokens.{0,40}too", re.I
)


class UnansweredError(LmrbenchError):
    """A sample has no answer, and the model is not at fault. The sample should be run again."""

    status: AnswerStatus = "machine_error"


class ProviderError(UnansweredError):
    """The provider did not respond, or responded with an error."""

    status: AnswerStatus = "provider_error"


class AgentCrashError(UnansweredError):
    """The agent's program failed before its first model call."""

    status: AnswerStatus = "agent_crash"


@dataclass(frozen=True)
class Ending:
    """How an answer or a model call ended.

    Attributes:
        status: The status that is stored in the record of an answer.
        detail: The reason, on one line; "" if the status alone says enough.
    """

    status: AnswerStatus
    detail: str = ""


def one_line(text: str) -> str:
    """Put a message on one line, and cut it off after `MOST_CHARACTERS` characters."""
    line = " ".join(text.split())
    return line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]}..."


def model_calls(events: Sequence[Event]) -> list[ModelEvent]:
    """Return a sample's model calls, in order, except those that are pending or were cancelled.

    Each retry counts as a call. Calls made by scorers, such as a judge's, are left out.
    """
    return [
        event
        for event in takewhile(lambda event: not _begins_scoring(event), events)
        if isinstance(event, ModelEvent) and not event.pending and not _CANCELLED.search(event.error or "")
    ]


def _begins_scoring(event: Event) -> bool:
    return isinstance(event, SpanBeginEvent) and event.name == "scorers"


def turns(events: Sequence[Event]) -> list[ModelEvent]:
    """Return a sample's successful model calls, in order."""
    return [call for call in model_calls(events) if not call.error]


def failure(call: ModelEvent) -> str:
    """Return the error of a model call on one line, or "" if the call succeeded."""
    timeout = re.search(r"attempt_timeout '(\d+)'", call.error or "")
    return f"no answer within {timeout[1]} s" if timeout else one_line(call.error or "")


def provider_fault(events: Sequence[Event]) -> str:
    """Return the provider's error in the last model call of a sample.

    Returns:
        The error on one line; "" if there was no call, the last call succeeded, or its input was too long.
    """
    calls = model_calls(events)
    return failure(calls[-1]) if calls and not too_long(calls[-1].error or "") else ""


def silence(events: Sequence[Event]) -> str:
    """Return the reason why a sample that ran out of time has no answer; "" if at least one model call returned."""
    return "" if model_calls(events) else "no model call returned before the time limit"


def ended_by_limit(events: Sequence[Event], noted: str | None) -> str:
    """Return the kind of limit that ended a sample, or "" if no limit did.

    Args:
        events: The sample's events.
        noted: The value under the key `LIMIT` in the sample's store; None if there is none.
    """
    return noted or next((event.type for event in reversed(events) if isinstance(event, SampleLimitEvent)), "")


def answer_text(events: Sequence[Event]) -> str:
    """Return the model's last message, which is its submission.

    Returns:
        The text; "" if the last call failed, if the model refused, or if the text is not the model's but comes from
        the provider or Inspect.
    """
    calls = model_calls(events)
    output = calls[-1].output if calls and not calls[-1].error else None
    if output is None or output_ending(output).status in ("limit", "refused") or not _generated(output):
        return ""
    return output.completion


def declined(events: Sequence[Event]) -> str:
    """Return a message that the model refused or that its answer was filtered, with the reason if known.

    Returns:
        The message; "" if the model did not refuse and its answer was not filtered.
    """
    calls = model_calls(events)
    ended = output_ending(calls[-1].output) if calls and not calls[-1].error else Ending("answered")
    what = {"refused": "the model refused", "filtered": "the answer was filtered"}.get(ended.status, "")
    return f"{what}: {ended.detail}" if what and ended.detail else what


def answer_ending(events: Sequence[Event], limit: str, refusal: str, untouched: bool) -> Ending:
    """Classify how an answer that is graded ended.

    Args:
        events: The sample's events.
        limit: The kind of limit that ended the sample, or "" if no limit did.
        refusal: The reason why no submission can be read from the answer, or "" if one can be read.
        untouched: Whether the answer comes from an agent that left the goal files unchanged. These are the files that
            contain the functions to write.
    """
    calls = model_calls(events)
    if calls and too_long(calls[-1].error or ""):
        return Ending("limit", failure(calls[-1]))
    if limit:
        return Ending("limit", f"limit of {limit}" + (f"; {refusal}" if refusal else ""))
    ended = output_ending(calls[-1].output) if calls else Ending("empty")
    if ended.status == "limit":
        return ended
    if untouched:
        return ended if ended.status in ("refused", "filtered", "truncated") else Ending("empty", "nothing was changed")
    if refusal:
        return (
            Ending("unusable", refusal) if ended.status == "answered" else Ending(ended.status, ended.detail or refusal)
        )
    # A truncated or filtered answer may still be complete, and an agent's last message may be empty.
    return ended if ended.status in ("truncated", "filtered", "refused") else Ending("answered")


def unanswered_ending(sample: EvalSample) -> Ending:
    """Classify how a logged sample without a score ended."""
    if noted := sample.store.get(UNANSWERED):
        return Ending(noted["status"], noted["detail"])
    if fault := provider_fault(sample.events):
        return Ending("provider_error", fault)
    return Ending("machine_error", one_line(sample.error.message) if sample.error else "the sample has no score")


def output_ending(output: ModelOutput) -> Ending:
    """Classify how a single model call ended, given its output."""
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
    """Return whether the model wrote the output. Inspect also turns some errors into outputs, but without usage."""
    return output.stop_reason not in ("model_length", "content_filter") or output.usage is not None


def too_long(error: str) -> bool:
    """Return whether an error says that the input does not fit the model's context."""
    return bool(_TOO_LONG.search(error)) and not _NOT_THE_INPUT.search(error)
