"""What a solver hands in for one task."""

from __future__ import annotations

from pydantic import Field

from lmrbench.tasks.model import Record


class Submission(Record):
    """The code of one sample of one system for one task.

    code: by goal file, the Python text that its targets are taken from; or, for a task with one goal file, a
    response as a model printed it. label: which of a system's samples this is, in words. warnings: what of the hand-in
    was already left out when it was collected.
    """

    system: str = Field(min_length=1)
    task: str = Field(min_length=1)
    sample: int = Field(default=0, ge=0)
    label: str = ""
    code: str | dict[str, str]
    warnings: tuple[str, ...] = ()
