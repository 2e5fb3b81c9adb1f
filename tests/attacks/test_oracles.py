"""A candidate cannot reach a helper that computes the target's result while cases are drawn."""

import ast

import pytest
from tests import core
from tests.graded import graded

from lmrbench.sandbox.pool import LocalPool
from lmrbench.sandbox.registry import make_sandbox
from lmrbench.tasks.checks import observing
from lmrbench.tasks.loading import default_suite
from lmrbench.tasks.submission import Submission

# By task: helpers of its check that hold the method, or the larger part of it.
HELPERS = {
    "concept_depth/probing": ("fitted", "split"),
    "eta_sampling/warp": ("_is_clear",),
    "loftq/quantised_start": ("_is_clear", "_middles"),
    "graph_uncertainty/graph": ("_is_clear",),
    "yarn/frequencies": ("_is_clear",),
    "ppo/ppo": ("loss",),
}
ATTACK = '''
import sys


def _fitted():
    """The helper of the check that fits the probe, if its frame, or the loaded check, leads to it."""
    frame = sys._getframe()
    while frame:
        for values in (frame.f_globals, frame.f_locals, vars(frame.f_locals.get("module", object))):
            if "fitted" in values:
                return values["fitted"]
        frame = frame.f_back
    raise LookupError("nothing fits the probe")


def probing(features_pos, features_neg, labels_pos, labels_neg, n_layers):
    labels = np.concatenate([labels_pos, labels_neg])
    train, test = split_rows(len(labels), PROBE)
    for layer in range(1, n_layers + 1):
        rows = np.concatenate([batch[:, layer] for batch in [*features_pos, *features_neg]])
        inputs, tested = standardize(rows[train], rows[test])
        _fitted()(inputs, labels[train])
'''


@pytest.fixture(scope="module")
def tasks():
    return {task.id: task for task in (*core.ALL, *core.published())}


@pytest.mark.parametrize("name", HELPERS)
def test_what_observes_has_no_helper_that_holds_the_method(tasks, name):
    check = tasks[name].files.check
    defined, observed = (
        {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}
        for text in (check, observing(check))
    )
    assert defined.issuperset(HELPERS[name])
    assert not observed.intersection(HELPERS[name])


@pytest.mark.sandbox
def test_a_candidate_that_looks_for_the_checks_own_probe_finds_none(tasks):
    task = tasks["concept_depth/probing"]
    with LocalPool(make_sandbox("bubblewrap", [default_suite()]), size=1) as pool:
        [found] = graded([Submission(system="attacker", task=task.id, code=ATTACK)], {task.id: task}, (3,), pool)
    assert not found.correct
    assert sum("nothing fits the probe" in case.reason for case in found.cases) > len(found.cases) / 2
