"""A renamed copy does what the original does, and reads otherwise."""

from typing import Any

import pytest
from tests import core

from lmrbench.source.renaming import renamed

SOURCE = '''
"""A module."""
import math as maths

LIMIT = 3
total = 7

class Counter:
    start = 2

    def count(self, items, *, scale=1):
        # A comment.
        total = 0
        for item in items:
            weight = item * scale
            total += weight + self.start
        doubled = [weight * 2 for weight in items if (last := weight) < LIMIT]
        def inner(step):
            nonlocal total
            total += step
            return total
        try:
            maths.sqrt(-1)
        except ValueError as error:
            message = str(error)
        return total, doubled, last, inner(step=5), bool(message)

def module_level():
    global total
    total = 8
    local = total
    return local
'''


def test_the_copy_does_the_same_under_other_names():
    copy = renamed(SOURCE)
    for word in ("comment", "item ", "doubled", "message ="):
        assert word not in copy
    for word in ("def count(self, items, *, scale=1)", "LIMIT", "inner(step=5)", "start"):
        assert word in copy
    answers = []
    for text in (SOURCE, copy):
        names: dict[str, Any] = {}
        exec(text, names)
        answers.append((names["Counter"]().count([1, 2, 5], scale=3), names["module_level"](), names["total"]))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("task", core.ALL, ids=lambda task: task.id)
def test_every_goal_file_has_a_copy_that_reads_otherwise(task):
    for name in task.goal_files:
        text = task.files.repository[name].decode()
        copy = renamed(text)
        compile(copy, name, "exec")
        assert copy != text
        assert renamed(copy).count("\n") == copy.count("\n")
