"""What surrounds each answer: does the provider answer at all, how long may it take, and whose fault is its end?

Before the first sample, and again after a provider gave up on one, a small request is sent: where it fails, samples are
left unanswered at once instead of one after another. The time limit counts working time. A call that is under way when
the limit is reached is waited for, as its answer is paid for and a server that hangs is no fault of the model; how long
a call may take is bounded by the provider's own timeouts.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Awaitable, Callable

import anyio
from inspect_ai.event import ModelEvent
from inspect_ai.log import transcript
from inspect_ai.model import ChatMessageUser, GenerateConfig, Model, get_model
from inspect_ai.solver import TaskState
from inspect_ai.util import LimitExceededError, sample_limits, store

from lmrbench.models.endings import (
    LIMIT,
    UNANSWERED,
    AgentCrashError,
    ProviderError,
    UnansweredError,
    failure,
    model_calls,
    one_line,
    provider_fault,
)

# The small request: what it says, how long it may take, and how long a failure of it is believed.
SMALL_REQUEST = "Reply with the word OK."
SMALL_TOKENS, SMALL_SECONDS, BELIEVED_SECONDS = 16, 120.0, 60.0
_TICK_SECONDS = 1.0
# What shells, Python, Node and the kernel say of a program, or a part of it, that the namespace does not show.
_NOT_THERE = re.compile(
    "not found|no such file or directory|no module named|cannot find module|can't open file|cannot open", re.I
)


class Progress:
    """How many samples are under way in this process, and what their provider's last errors were."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: dict[str, str] = {}

    def note(self, sample: str, error: str) -> None:
        """A sample is under way; error: with which its last call of the model failed, "" if it did not."""
        with self._lock:
            self._under_way[sample] = error

    def done(self, sample: str) -> None:
        """A sample has ended."""
        with self._lock:
            self._under_way.pop(sample, None)

    def __str__(self) -> str:
        with self._lock:
            errors = [error for error in self._under_way.values() if error]
            under_way = f"{len(self._under_way)} under way"
        return f"{under_way}, {len(errors)} of them after an error ({errors[-1]})" if errors else under_way


PROGRESS = Progress()


class Reachability:
    """Whether providers answer at all, told by a small request to each."""

    def __init__(self) -> None:
        self._lock = anyio.Lock()
        self._proven: set[str] = set()
        self._failed: dict[str, tuple[float, str]] = {}

    async def prove(self, model: Model) -> None:
        """Raise ProviderError where a small request fails. A success is believed until `doubt` is called."""
        name = str(model)
        async with self._lock:
            if name in self._proven:
                return
            since, fault = self._failed.get(name, (float("-inf"), ""))
            if time.monotonic() - since > BELIEVED_SECONDS:
                fault = await small_request(model)
            if fault:
                self._failed[name] = (time.monotonic(), fault)
                raise ProviderError(fault)
            self._failed.pop(name, None)
            self._proven.add(name)

    def doubt(self, model: Model) -> None:
        """The provider gave up on a call: ask again before the next one."""
        self._proven.discard(str(model))


class Attendance:
    """Attends to the samples of one evaluation. seconds: the most working time of one sample, None for no limit."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._reachable = Reachability()

    async def attend(self, state: TaskState, work: Callable[[], Awaitable[TaskState]]) -> TaskState:
        """The state that `work` leaves. Raises UnansweredError where there is nothing to grade for the model."""
        sample = state.uuid
        PROGRESS.note(sample, "")
        model = get_model()
        try:
            await self._reachable.prove(model)
            try:
                state = await self._bounded(sample, work)
            except LimitExceededError as error:
                store().set(LIMIT, error.type)
                _raise_provider_fault()
                raise
            except UnansweredError:
                raise
            except Exception as error:
                _raise_provider_fault(error)
                # Where the last call failed all the same, its input did not fit the model.
                if not (calls := model_calls(transcript().events)) or not calls[-1].error:
                    raise
            _raise_provider_fault()
            return state
        except UnansweredError as error:
            if isinstance(error, ProviderError):
                self._reachable.doubt(model)
            store().set(UNANSWERED, {"status": error.status, "detail": one_line(str(error))})
            raise
        finally:
            PROGRESS.done(sample)

    async def _bounded(self, sample: str, work: Callable[[], Awaitable[TaskState]]) -> TaskState:
        """The result of `work`. Raises LimitExceededError where it took too much working time."""
        began = sample_limits().working.usage
        result: TaskState | None = None
        raised: Exception | None = None
        worked = 0.0

        async def watch(scope: anyio.CancelScope) -> None:
            nonlocal worked
            waited_for: set[str | None] | None = None
            while True:
                await anyio.sleep(_TICK_SECONDS)
                calls = model_calls(transcript().events)
                PROGRESS.note(sample, failure(calls[-1]) if calls else "")
                worked = sample_limits().working.usage - began
                if self._seconds is None or worked < self._seconds:
                    waited_for = None
                    continue
                under_way = {
                    event.uuid for event in transcript().events if isinstance(event, ModelEvent) and event.pending
                }
                waited_for = under_way if waited_for is None else waited_for & under_way
                if not waited_for:
                    scope.cancel()
                    return

        async with anyio.create_task_group() as group:
            group.start_soon(watch, group.cancel_scope)
            try:
                result = await work()
            except Exception as error:
                raised = error
            group.cancel_scope.cancel()
        if raised is not None:
            raise raised
        if result is None:
            limit = self._seconds or 0.0
            message = f"Time limit exceeded. limit: {limit:g} s of working time"
            raise LimitExceededError("working", value=worked, limit=limit, message=message)
        return result


async def small_request(model: Model) -> str:
    """Why the provider can't be used, "" if it can. A server that refuses this request, or is busy, is alive."""
    config = model.config.merge(GenerateConfig(max_tokens=SMALL_TOKENS))
    try:
        with anyio.fail_after(SMALL_SECONDS):
            found = await model.api.generate([ChatMessageUser(content=SMALL_REQUEST)], [], "none", config)
    except TimeoutError:
        return f"no answer to a small request within {SMALL_SECONDS:g} s"
    except Exception as error:
        fault = error
    else:
        output = found[0] if isinstance(found, tuple) else found
        if not isinstance(output, Exception):
            return ""
        fault = output
    code = getattr(fault, "status_code", None)
    alive = code in (400, 413, 422) or (code == 429 and "insufficient_quota" not in str(fault))
    return "" if alive else one_line(str(fault) or repr(fault))


def program_ended(command: str, returncode: int, stderr: str) -> None:
    """Raise AgentCrashError where an agent's program ended with an error, and had asked the model nothing."""
    if returncode and not model_calls(transcript().events):
        last = " / ".join(line.strip() for line in stderr.strip().splitlines()[-3:])
        said = f"exit code {returncode}" + (f": {last}" if last else f" of {command}")
        hint = "; --mount FOLDER shows the agent a folder of this machine" if _NOT_THERE.search(last) else ""
        raise AgentCrashError(said + hint)


def _raise_provider_fault(cause: Exception | None = None) -> None:
    if fault := provider_fault(transcript().events):
        raise ProviderError(fault) from cause
