"""What observes a reference or a candidate knows nothing of how cases are drawn."""

import ast

import pytest
from tests import core

from lmrbench.errors import TaskError
from lmrbench.tasks.checks import observing

CHECK = '''
"""A check."""
import math
import random
from itertools import chain, count

SECRET = 7
TABLE = {"a": 1}

def answer(x):
    return math.sqrt(x) + SECRET

def cases(seed):
    yield {"x": random.Random(seed).random(), "clear": answer(2.0)}

def rounded(value):
    return [round(item, 3) for item in chain(value)]

class Model:
    def __call__(self, x):
        return x + TABLE["a"]

_observe, _cases = rounded, cases

def observe(case):
    from target import f
    return _observe([f(case["x"], Model())])
'''


def names_of(source):
    module: dict = {}
    exec(compile(source, "check.py", "exec"), module)
    return {name for name in module if not name.startswith("__")}


def test_observe_keeps_what_it_needs_and_nothing_else():
    assert names_of(observing(CHECK)) == {"chain", "TABLE", "rounded", "Model", "_observe", "observe"}


def test_a_helper_of_both_halves_stays():
    assert "answer" in names_of(observing(CHECK.replace("_observe([", "_observe([answer(1.0), ")))


@pytest.mark.parametrize("lookup", ["globals()['rounded']", "eval('rounded')", "exec('rounded')"])
def test_a_lookup_that_hides_what_is_needed_is_refused_with_its_line(lookup):
    with pytest.raises(TaskError, match=r"line 27: \w+\(\) hides the names that `observe` needs"):
        observing(CHECK.replace("return _observe([", f"return {lookup}(["))


def test_a_check_without_observe_is_refused():
    with pytest.raises(TaskError, match="no function `observe`"):
        observing("def cases(seed): return []")


@pytest.mark.parametrize("published", [False, True])
def test_no_check_of_the_suites_shows_a_candidate_how_it_draws(published):
    for task in core.published() if published else core.ALL:
        functions = {node.name for node in ast.parse(observing(task.files.check)).body if hasattr(node, "name")}
        assert "observe" in functions
        assert "cases" not in functions, task.id
