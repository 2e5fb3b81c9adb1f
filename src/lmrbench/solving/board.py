"""The board of a run: a display of finished samples, samples under way, costs, and the estimated time left.

A sample is one attempt at a task. If an agent solves several tasks in one session, that is, in one workspace and one
conversation, the sample is one attempt at all of them. On a terminal, the board is redrawn every second. If standard
error is not a terminal, a one-line summary is printed at regular intervals. With --quiet, nothing is shown.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from inspect_ai.event import ModelEvent
from inspect_ai.model import ModelUsage

from lmrbench.models.endings import failure
from lmrbench.progress import is_quiet, lines_of_progress
from lmrbench.text import printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

# The maximum number of samples under way that the board lists on a terminal.
_MOST_ROWS = 12


@dataclass(frozen=True)
class _UnderWay:
    """A sample under way.

    Attributes:
        name: The name of its task or session.
        answers: Its answers, as pairs of task and sample number.
        began: The time at which it began, by the monotonic clock.
        error: The error of its last model call, or "".
        usage: The tokens and the cost of its model calls so far.
    """

    name: str
    answers: frozenset[tuple[str, int]]
    began: float
    error: str = ""
    usage: ModelUsage = field(default_factory=ModelUsage)


class Board:
    """The state of a run. Solvers and scorers report to it from any thread."""

    def __init__(
        self, expected: Collection[tuple[str, int]] = (), graded: Mapping[tuple[str, int], bool] | None = None
    ):
        """Start with the state of the run folder.

        Args:
            expected: The samples that are requested, as pairs of task and sample number.
            graded: Whether each sample that was graded earlier is correct, by task and sample number.
        """
        self._lock = threading.Lock()
        self._expected = frozenset(expected)
        self._outcomes = {key: _kind(correct) for key, correct in (graded or {}).items() if key in self._expected}
        self._earlier = len(self._outcomes)
        self._under_way: dict[str, _UnderWay] = {}
        self._ended: set[tuple[str, int]] = set()
        self._usage = ModelUsage()
        self._began = time.monotonic()

    def begin(self, sample: str, name: str, tasks: Iterable[str], number: int) -> None:
        """Record that a sample has begun. A sample that failed may begin again.

        Args:
            sample: The sample's UUID.
            name: The name of its task or session.
            tasks: The tasks that it answers.
            number: The sample number of its answers.
        """
        answers = frozenset((task, number) for task in tasks)
        with self._lock:
            self._under_way[sample] = _UnderWay(name, answers, time.monotonic())
            self._ended -= answers
            for key in answers:
                self._outcomes.pop(key, None)

    def note(self, sample: str, calls: Iterable[ModelEvent]) -> None:
        """Update the usage and the last error of a sample under way.

        Args:
            sample: The sample's UUID.
            calls: All model calls of the sample so far.
        """
        made = list(calls)
        usage = sum((call.output.usage for call in made if call.output.usage is not None), ModelUsage())
        with self._lock:
            error = failure(made[-1]) if made else ""
            self._under_way[sample] = replace(self._under_way[sample], error=error, usage=usage)

    def end(self, sample: str) -> None:
        """Record that a sample has ended. Until its outcome is recorded, it is shown as being graded."""
        with self._lock:
            ended = self._under_way.pop(sample)
            self._usage += ended.usage
            self._ended |= ended.answers

    def answered(self, task: str, sample: int, correct: bool) -> None:
        """Record the grade of an answer."""
        self._set(task, sample, _kind(correct))

    def unanswered(self, tasks: Iterable[str], sample: int, status: str) -> None:
        """Record that a sample has no answer. The status gives the reason, such as `provider_error`."""
        for task in tasks:
            self._set(task, sample, status.replace("_", " "))

    def _set(self, task: str, sample: int, kind: str) -> None:
        with self._lock:
            self._outcomes[task, sample] = kind

    def __str__(self) -> str:
        """Return the state in one line."""
        with self._lock:
            under_way = list(self._under_way.values())
            kinds = Counter(self._outcomes.values())
            graded_now = len(self._ended - self._outcomes.keys())
            usage = sum((item.usage for item in under_way), self._usage)
        done = kinds.total()
        parts = [f"{done} of {len(self._expected)} done"]
        if done:
            parts[0] += f" ({', '.join(f'{count} {kind}' for kind, count in kinds.most_common())})"
        errors = [item.error for item in under_way if item.error]
        after = f", {len(errors)} of them after an error ({errors[-1]})" if errors else ""
        parts.append(f"{len(under_way)} under way{after}")
        if graded_now:
            parts.append(f"{graded_now} being graded")
        if usage.total_tokens:
            parts.append(f"{usage.total_tokens:,} tokens")
        if usage.total_cost:
            parts.append(f"${usage.total_cost:.2f}")
        if (here := done - self._earlier) > 0 and done < len(self._expected):
            left = (time.monotonic() - self._began) / here * (len(self._expected) - done)
            parts.append(f"about {_duration(left)} left")
        return printable("; ".join(parts))

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the board on standard error while the context is open."""
        out = _console()
        if is_quiet() or not out.is_terminal:
            with lines_of_progress(self.__str__, sys.stderr):
                yield
            return
        from rich.live import Live

        # Standard output is not redirected here, because `solving.run` redirects it already.
        with Live(get_renderable=lambda: self._drawn(out), console=out, refresh_per_second=1, redirect_stdout=False):
            yield

    def _drawn(self, out: Console) -> RenderableType:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        with self._lock:
            rows = sorted(self._under_way.values(), key=lambda item: item.began)
            done = len(self._outcomes)
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
        now = time.monotonic()
        for item in rows[:_MOST_ROWS]:
            said = item.error or f"{item.usage.total_tokens:,} tokens"
            table.add_row(*map(Text, (printable(item.name), _duration(now - item.began), printable(said))))
        if len(rows) > _MOST_ROWS:
            table.add_row(Text(f"and {len(rows) - _MOST_ROWS} more"))
        bar = ProgressBar(total=len(self._expected), completed=done, width=min(40, out.width))
        grid = Table.grid()
        for part in (bar, Text(str(self)), table):
            grid.add_row(part)
        return grid


def _console() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def _kind(correct: bool) -> str:
    return "correct" if correct else "not correct"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


# The board of the run that `solving.run` performs.
board_of_run: ContextVar[Board | None] = ContextVar("board_of_run", default=None)


def current_board() -> Board:
    """Return the board of the run. If Inspect's own command runs the evaluation, return a board that is not shown."""
    return board_of_run.get() or Board()
