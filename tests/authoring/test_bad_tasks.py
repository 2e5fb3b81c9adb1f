"""Tasks with faults of published benchmarks, and the finding that catches each."""

import json
import py_compile
import re

import pytest

from lmrbench.authoring.audit.auditing import audit
from lmrbench.authoring.audit.leaks import missing
from lmrbench.errors import TaskError
from lmrbench.tasks.loading import load_suite


@pytest.fixture(scope="module")
def sound(toy_suite, pool):
    """What the audit finds in the task before it is spoilt."""
    return "\n".join(audit(load_suite(toy_suite)[0], (0, 1), pool).shortfalls)


def replace(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def observe(paper, body):
    check = paper / "checks" / "blend.py"
    head = check.read_text().partition("def observe")[0]
    check.write_text(f"{head}def observe(case):\n    {body}\n")


CALL = 'from blending import Blender; value = Blender(case["scale"]).blend(case["values"])'


def compares_with_itself(paper):
    observe(paper, f"{CALL}; return value == value")


def imports_the_golden(paper):
    golden = (paper / "repo" / "blending.py").read_text().partition("class Blender")[2]
    check = paper / "checks" / "blend.py"
    check.write_text(f"from weighting import weights\n\n\nclass Golden{golden}\n\n{check.read_text()}")
    observe(paper, 'return Golden(case["scale"]).blend(case["values"])')


def accepts_a_stub(paper):
    observe(paper, f"{CALL}; return value is not None")


def ships_bytecode(paper):
    compiled = py_compile.compile(str(paper / "repo" / "blending.py"), cfile=str(paper / "repo" / "blending.dat"))
    assert compiled


def ships_a_notebook(paper):
    source = (paper / "repo" / "blending.py").read_text().splitlines(keepends=True)
    cell = {"cell_type": "code", "source": source, "outputs": [], "execution_count": None, "metadata": {}}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (paper / "repo" / "demo.ipynb").write_text(json.dumps(notebook))


def ships_a_renamed_copy(paper):
    text = (paper / "repo" / "blending.py").read_text()
    for old, new in (("values", "xs"), ("factors", "ws"), ("Blender", "Mixer"), ("blend", "mix"), ("scale", "k")):
        text = text.replace(old, new)
    (paper / "repo" / "old_version.py").write_text(text)


def draws_without_a_seed(paper):
    replace(paper / "checks" / "blend.py", "random.Random(seed)", "random.SystemRandom()")


def withholds_a_constant(paper):
    replace(paper / "repo" / "blending.py", "return self.scale *", "return 0.8125 * self.scale *")


def tolerates_too_much(paper):
    replace(paper / "task.toml", "rtol = 1e-9, atol = 1e-12", "rtol = 0.99, atol = 100")


def ignores_an_output(paper):
    observe(paper, f"{CALL}; return len(case['values'])")


def fails_its_own_check(paper):
    replace(paper / "repo" / "blending.py", "factors = weights", "factors = missing")


def names_a_target_that_is_not_there(paper):
    replace(paper / "task.toml", "Blender.blend", "Blender.mix")


def is_of_no_category(paper):
    table = 'name = "toys"\nversion = "1"\n[categories]\nprompting = "Prompting"\n'
    (paper.parent / "suite.toml").write_text(table)


def names_an_absolute_path(paper):
    replace(paper / "task.toml", "checks/blend.py", str(paper / "checks" / "blend.py"))


def uses_the_network(paper):
    observe(paper, 'import socket; return socket.create_connection(("127.0.0.1", 80), timeout=1) is not None')


FINDINGS = {
    compares_with_itself: r"the check accepts the wrong version unscaled",
    imports_the_golden: r"the check accepts the masked repository",
    accepts_a_stub: r"the check accepts the cheat that returns one zero",
    ships_bytecode: r"repo/blending\.dat contains 100% of the answer",
    ships_a_notebook: r"repo/demo\.ipynb(::blend)? contains 100% of the answer",
    ships_a_renamed_copy: r"repo/old_version\.py::mix contains 100% of the answer",
    draws_without_a_seed: r"the check draws different cases under the same seed",
    withholds_a_constant: r"no text in the workspace states the constant 0\.8125",
    tolerates_too_much: r"the check accepts the wrong version un\w+",
    ignores_an_output: r"mutation score 0\.",
    fails_its_own_check: r"toy/blend: the reference fails its own check in case 0 \(0 values\)",
    names_a_target_that_is_not_there: r"task\[0\]\.targets: blending\.py: Blender\.mix: no such function",
    is_of_no_category: r"task\[0\]\.category: 'evaluation_metrics' is unknown; expected one of: prompting",
    names_an_absolute_path: r"task\[0\]\.check: .*relative path",
    uses_the_network: r"the reference fails its own check .*",
}


@pytest.mark.parametrize("spoil", FINDINGS, ids=lambda spoil: spoil.__name__)
def test_a_bad_task_is_caught_by_the_right_finding(spoil, paper, pool, sound):
    spoil(paper)

    try:
        found = "\n".join(audit(load_suite(paper.parent)[0], (0, 1), pool).shortfalls)
    except TaskError as error:
        found = str(error)

    assert re.search(FINDINGS[spoil], found), found
    assert not re.search(FINDINGS[spoil], sound)


def test_no_text_has_to_state_the_messages_of_a_target(paper):
    said = ['print(f"blending {len(values)} values")', 'warnings.warn("a warning")', 'assert values, "no values"']
    said += ['logging.info("blending")', 'logger.error("no weights")']
    for line in said:
        replace(paper / "repo" / "blending.py", "        if not values:", f"        {line}\n        if not values:")
    assert missing(load_suite(paper.parent)[0]).literals == ()

    replace(paper / "repo" / "blending.py", "return 0.0", 'return {"a key": 0.0}')
    assert missing(load_suite(paper.parent)[0]).literals == ("'a key'",)
