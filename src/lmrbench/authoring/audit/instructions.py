"""Limits on the length of instructions, which should tell a solver what to implement and not spell out every detail."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lmrbench.tasks.model import Task

# The largest numbers of words in an instruction: before its first section (for one target, and for several targets),
# and in each section.
_ONE_TARGET, _SEVERAL_TARGETS, _SECTION = 150, 250, 120
_HEADING = re.compile(r"^## +(.+)$", re.MULTILINE)


def too_long(task: Task) -> Iterator[str]:
    """Yield a message for each part of an instruction that is too long.

    Args:
        task: The task. A section of its instruction begins with a Markdown heading of level 2, such as "## Edge cases".
    """
    first, *sections = _HEADING.split(task.instruction)
    limits = [("before its sections", first, _ONE_TARGET if len(task.targets) == 1 else _SEVERAL_TARGETS)]
    limits += [(f'under "{name}"', text, _SECTION) for name, text in zip(sections[::2], sections[1::2], strict=True)]
    for place, text, most in limits:
        if (words := len(text.split())) > most:
            yield f"{task.id}: its instruction has {words} words {place}, more than {most}"
