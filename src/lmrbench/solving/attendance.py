"""Supervise samples: check the provider, limit the working time, and classify faults.

A sample is one attempt at a task. If an agent solves several tasks in one session, that is, in one workspace and one
conversation, the sample is one attempt at all of them. A small request checks the provider before the first sample, and
again after a call to the provider has failed. If the request fails, all samples are recorded as unanswered at once,
instead of failing one after another. A model call that is in progress when the limit on working time is reached may
finish, because its output is paid for and a slow server is not the model's fault. Only the provider's own timeouts
limit such a call.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

import anyio
from inspect_ai.event import ModelEvent
from inspect_ai.log import transcript
from inspect_ai.model import get_model
from inspect_ai.solver import TaskState
from inspect_ai.util import LimitExceededError, sample_limits, store

from lmrbench.models.endings import (
    LIMIT,
    UNANSWERED,
    AgentCrashError,
    ProviderError,
    UnansweredError,
    model_calls,
    one_line,
    provider_fault,
)
from lmrbench.models.reachability import Reachability
from lmrbench.runs.logs import tasks_of
from lmrbench.solving.board import Board, current_board

_TICK_SECONDS = 1.0
# Messages of shells, Python, Node and the kernel about files that are missing from the agent's mount namespace.
_NOT_THERE = re.compile(
    "not found|no such file or directory|no module named|cannot find module|can't open file|cannot open", re.I
)


class Attendance:
    """Runs the solvers of one evaluation under a limit on working time, and classifies their faults."""

    def __init__(self, seconds: float | None) -> None:
        """Set the limit on working time.

        Args:
            seconds: maximum working time of a sample, in seconds; None for no limit.
        """
        self._seconds = seconds
        self._reachable = Reachability()

    async def attend(self, state: TaskState, work: Callable[[], Awaitable[TaskState]]) -> TaskState:
        """Run the solver of a sample.

        Args:
            state: the sample's state before the solver runs.
            work: a function that runs the solver.

        Returns:
            The sample's state after the solver has run.

        Raises:
            UnansweredError: the provider or the machine failed, so there is no answer to grade.
            LimitExceededError: a limit of the sample was reached.
        """
        sample = state.uuid
        board, tasks = current_board(), tasks_of(state.sample_id, state.metadata)
        board.begin(sample, str(state.sample_id), tasks, state.epoch - 1)
        model = get_model()
        try:
            await self._reachable.prove(model)
            try:
                state = await self._bounded(sample, work, board)
            except LimitExceededError as error:
                store().set(LIMIT, error.type)
                _raise_provider_fault()
                raise
            except UnansweredError:
                raise
            except Exception as error:
                _raise_provider_fault(error)
                # If the last call failed only because its input was too long, the work done so far is graded.
                if not (calls := model_calls(transcript().events)) or not calls[-1].error:
                    raise
            _raise_provider_fault()
            return state
        except UnansweredError as error:
            if isinstance(error, ProviderError):
                self._reachable.doubt(model)
            store().set(UNANSWERED, {"status": error.status, "detail": one_line(str(error))})
            board.unanswered(tasks, state.epoch - 1, error.status)
            raise
        except LimitExceededError:
            raise
        except Exception:
            board.unanswered(tasks, state.epoch - 1, UnansweredError.status)
            raise
        finally:
            board.note(sample, model_calls(transcript().events))
            board.end(sample)

    async def _bounded(self, sample: str, work: Callable[[], Awaitable[TaskState]], board: Board) -> TaskState:
        """Run the solver of a sample under the limit on working time.

        Raises:
            LimitExceededError: the solver used up the working time.
        """
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
                board.note(sample, calls)
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


def program_ended(command: str, returncode: int, stderr: str) -> None:
    """Check that an agent's program did not fail before its first model call.

    Args:
        command: the program's command line, for the message.
        returncode: the program's exit code.
        stderr: the error output of the program.

    Raises:
        AgentCrashError: the program failed before its first model call.
    """
    if returncode and not model_calls(transcript().events):
        last = " / ".join(line.strip() for line in stderr.strip().splitlines()[-3:])
        said = f"the program failed with exit code {returncode}" + (f": {last}" if last else f" (command: {command})")
        hint = "; if its sandbox lacks files of this machine, add --mount FOLDER" if _NOT_THERE.search(last) else ""
        raise AgentCrashError(said + hint)


def _raise_provider_fault(cause: Exception | None = None) -> None:
    if fault := provider_fault(transcript().events):
        raise ProviderError(fault) from cause
