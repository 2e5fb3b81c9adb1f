"""Ctrl-C and SIGTERM."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class Interrupted(BaseException):
    """The command was asked to end. Typer would swallow a KeyboardInterrupt."""


def raise_interrupted(number: int, frame: object) -> None:
    """Raise Interrupted; a signal handler."""
    raise Interrupted


@contextmanager
def as_keyboard_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt upon a signal, so that Inspect ends its evaluation; then raise Interrupted."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    came: list[int] = []

    def interrupt(number: int, frame: object) -> None:
        came.append(number)
        raise KeyboardInterrupt

    ours = [signal.signal(number, interrupt) for number in numbers]
    try:
        yield
    except BaseException as error:
        # Inspect may have wrapped the KeyboardInterrupt, or report an unfinished run instead.
        if came:
            raise Interrupted from error
        raise
    finally:
        for number, handler in zip(numbers, ours, strict=True):
            signal.signal(number, handler)


@contextmanager
def as_cancellation() -> Iterator[None]:
    """Cancel the task of `asyncio.run` upon a signal, so that it ends cleanly; then raise Interrupted."""
    # Only this handler makes `asyncio.run` cancel its task.
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
