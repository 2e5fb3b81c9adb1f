"""Limits on the length of instructions, so that a solver reads what to implement and not a contract."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lmrbench.tasks.model import Task

# The words of an instruction up to its first section, for one target and for several, and those of each section.
_ONE_TARGET, _SEVERAL_TARGETS, _SECTION = 150, 250, 120
_HEADING = re.compile(r"^## +(.+)$", re.MULTILINE)


def too_long(task: Task) -> Iterator[str]:
    """Yield a sentence for each part of an instruction that is too long.

    Args:
        task: The task. Sections begin with a Markdown heading of the second level, such as "## Edge cases".
    """
    first, *sections = _HEADING.split(task.instruction)
    limits = [("before its sections", first, _ONE_TARGET if len(task.targets) == 1 else _SEVERAL_TARGETS)]
    limits += [(f'under "{name}"', text, _SECTION) for name, text in zip(sections[::2], sections[1::2], strict=True)]
    for place, text, most in limits:
        if (words := len(text.split())) > most:
            yield f"{task.id}: its instruction has {words} words {place}, more than {most}"
