"""Turn Ctrl-C and SIGTERM into exceptions that end a command cleanly."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class Interrupted(BaseException):
    """The command received SIGINT or SIGTERM.

    This is not a KeyboardInterrupt, because Typer, the library that parses the command line, would catch one.
    """


def raise_interrupted(number: int, frame: object) -> None:
    """Raise Interrupted; used as a signal handler."""
    raise Interrupted


@contextmanager
def as_keyboard_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGINT and SIGTERM inside the context, and Interrupted when the context has ended.

    A KeyboardInterrupt makes Inspect, the framework that calls models, end an evaluation cleanly.
    """
    numbers = (signal.SIGINT, signal.SIGTERM)
    came: list[int] = []

    def interrupt(number: int, frame: object) -> None:
        came.append(number)
        raise KeyboardInterrupt

    ours = [signal.signal(number, interrupt) for number in numbers]
    try:
        yield
    except BaseException as error:
        # Inspect may have wrapped the KeyboardInterrupt in another exception.
        if came:
            raise Interrupted from error
        raise
    finally:
        for number, handler in zip(numbers, ours, strict=True):
            signal.signal(number, handler)


@contextmanager
def as_cancellation() -> Iterator[None]:
    """Make SIGINT and SIGTERM cancel the main task of `asyncio.run`, and raise Interrupted when the task has ended."""
    # `asyncio.run` cancels its main task only on SIGINT, and only if SIGINT has Python's default handler.
    handlers = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: lambda number, frame: signal.raise_signal(signal.SIGINT),
    }
    ours = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    except KeyboardInterrupt as error:
        raise Interrupted from error
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
