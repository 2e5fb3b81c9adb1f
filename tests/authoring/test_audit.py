"""Findings of the audit for a good task, and for a task with each kind of fault that the audit looks for."""

import json

import pytest
from tests.graded import graded

from lmrbench.authoring.audit.auditing import audit
from lmrbench.authoring.audit.certificate import read_certificate, write_certificate
from lmrbench.authoring.audit.cheats import cheats
from lmrbench.authoring.audit.knowledge import fixed_inputs, oracles
from lmrbench.authoring.audit.laboratory import Laboratory
from lmrbench.errors import TaskError
from lmrbench.sandbox.pool import LocalPool
from lmrbench.sandbox.registry import make_sandbox
from lmrbench.tasks.loading import load_suite


def measured(paper, pool, seeds=(0, 1)):
    return audit(load_suite(paper.parent)[0], seeds, pool)


def replace(file, old, new):
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def test_a_good_task(paper, pool):
    found = measured(paper, pool)

    assert (found.golden.runs, found.golden.flakes, found.golden.worst_margin) == (2, 0, 0.0)
    assert found.mask_rejected
    assert all(item.passed and item.margin < 1 for item in found.rewrites)
    assert not any(item.passed for item in (*found.wrong, *found.cheats))
    assert {item.name for item in found.cheats} >= {"exits early", "knows one seed", "is equal to everything"}
    assert found.mutation.score > 0.9
    assert found.leak.share < 0.3
    assert found.cost.cases == found.golden.cases / found.golden.runs


def test_a_cheat_that_knows_one_seed_is_right_under_that_seed_alone(paper, pool):
    task = load_suite(paper.parent)[0]
    (known,) = (item for item in cheats(task, known_seed=3) if item.label == "knows one seed")

    passed = [next(iter(graded([known], {task.id: task}, (seed,), pool))).correct for seed in (3, 4)]

    assert passed == [True, False]


def test_a_check_that_can_not_fail_has_a_score_of_nothing(paper, pool):
    check = paper / "checks" / "blend.py"
    check.write_text(check.read_text() + "\n\n_observe = observe\n\n\ndef observe(case):\n    return 1\n")

    found = measured(paper, pool)

    assert found.mutation.score == 0
    assert len(found.mutation.survivors) == found.mutation.mutants
    assert any("mutation score 0.000" in text for text in found.shortfalls)
    assert any(text == "the check accepts the masked repository" for text in found.shortfalls)
    assert any("the cheat that exits early" not in text and "the cheat that" in text for text in found.shortfalls)


def test_a_golden_that_differs_from_itself_is_a_flake(paper, pool):
    check = paper / "checks" / "blend.py"
    check.write_text(f"import os\n{check.read_text()}\n_observe = observe\nobserve = lambda case: os.urandom(8)\n")

    found = measured(paper, pool)

    assert found.golden.flakes == found.golden.cases
    assert found.golden.worst_margin is None
    assert any("repeated runs of the golden differ" in text for text in found.shortfalls)


HELPER = """

def blended(values, scale):
    from weighting import weights

    factors = weights(len(values))
    return scale * sum(w * value for w, value in zip(factors, values)) / sum(factors) if values else 0.0
"""
CALLED = """

def observe(case):
    from blending import Blender

    near = blended(case["values"], case["scale"]) > 0
    return {"blend": Blender(case["scale"]).blend(case["values"]), "near": near}
"""
HELD = """

def observe(case):
    from blending import Blender
    from weighting import weights

    factors = weights(len(case["values"]))
    total = case["scale"] * sum(w * value for w, value in zip(factors, case["values"]))
    wanted = total / sum(factors) if factors else 0.0
    found = Blender(case["scale"]).blend(case["values"])
    return {"blend": found, "near": wanted > 0}
"""
DRAWN = """

_drawn = cases


def cases(seed):
    return [case for case in _drawn(seed) if blended(case["values"], case["scale"]) < 1e9]
"""


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (HELPER + CALLED, ("blended",)),
        (HELD, ("observe: wanted",)),
        (HELPER.replace("from weighting import weights", "weights = lambda count: range(1, count + 1)") + DRAWN, ()),
        ("", ()),
    ],
    ids=["a helper that observe calls", "a value that observe holds", "a helper that only draws", "none"],
)
def test_a_check_that_computes_the_targets_result_beside_it_is_an_oracle(paper, pool, text, names):
    check = paper / "checks" / "blend.py"
    check.write_text(check.read_text() + text)
    task = load_suite(paper.parent)[0]

    assert oracles(Laboratory(task, (0, 1), pool, lambda *_: None)) == names


def test_cases_that_no_seed_changes_are_fixed(paper, pool):
    replace(paper / "checks" / "blend.py", "generator = random.Random(seed)", "generator = random.Random(seed % 2)")
    task = load_suite(paper.parent)[0]
    # Of no values there is nothing to blend, under any seed.
    assert [fixed_inputs(Laboratory(task, seeds, pool, lambda *_: None)) for seeds in ((0, 1), (0, 2))] == [0.25, 1.0]


def test_a_case_that_an_error_alone_decides_is_given_away(paper, pool):
    check = paper / "checks" / "blend.py"
    check.write_text(
        check.read_text()
        + """

def observe(case):
    from blending import Blender

    try:
        return {"blend": Blender(case["scale"]).blend(case["values"] if len(case["values"]) > 1 else None)}
    except Exception as error:
        return {"raised": isinstance(error, (TypeError, ValueError))}
"""
    )
    task = load_suite(paper.parent)[0]

    golden = Laboratory(task, (0,), pool, lambda *_: None).goldens[0]
    assert golden.given == (True, True, False, False)


SINGLE_AND_DOUBLE = """
import torch

def cases(seed):
    generator = torch.Generator().manual_seed(seed)
    for dtype in (torch.float32, torch.float64):
        yield {"name": str(dtype), "x": torch.randn(2, 1000, generator=generator, dtype=dtype)}

def observe(case):
    return case["x"].log_softmax(dim=1)
"""


@pytest.mark.torch
@pytest.mark.sandbox
def test_what_rounding_alone_may_change(paper):
    (paper / "checks" / "blend.py").write_text(SINGLE_AND_DOUBLE)
    replace(paper / "task.toml", "rtol = 1e-9, atol = 1e-12", "rtol = 1e-9, atol = 1e-9")

    with LocalPool(make_sandbox("bubblewrap", [paper.parent]), size=1) as pool:
        found = measured(paper, pool)

    assert found.golden.worst_margin == 0
    # Single precision knows seven digits, the tolerance asks for nine.
    assert 10 < found.golden.rounding_margin < 1000


def test_a_wrong_version_that_is_right_and_a_rewrite_that_is_wrong(paper, pool):
    wrong = next((paper / "wrong" / "blend").glob("*.py"))
    rewrite = next((paper / "rewrites" / "blend").glob("*.py"))
    right, mistaken = rewrite.read_text(), wrong.read_text()
    wrong.write_text(right)
    rewrite.write_text(mistaken)

    shortfalls = measured(paper, pool).shortfalls

    assert f"the check accepts the wrong version {wrong.stem}" in shortfalls
    assert any(text.startswith(f"the rewrite {rewrite.stem} fails in") for text in shortfalls)


@pytest.mark.parametrize("rename", [False, True])
def test_a_second_copy_of_the_answer_leaks_even_under_other_names(paper, pool, rename):
    answer = (paper / "repo" / "blending.py").read_text()
    if rename:
        answer = answer.replace("values", "numbers").replace("total", "whole").replace("blend", "average")
    (paper / "repo" / "older.py").write_text(answer + "\n# an older version\n")

    found = measured(paper, pool, seeds=(0,))

    assert found.leak.share == 1.0
    assert "repo/older.py" in found.leak.place
    assert any("more than 30%" in text for text in found.shortfalls)


def test_a_constant_that_nothing_states(paper, pool):
    file = paper / "repo" / "blending.py"
    text = file.read_text()
    file.write_text(text.replace("self.scale *", "1.0625 * self.scale *", 1))
    assert file.read_text() != text

    assert measured(paper, pool, seeds=(0,)).missing.literals == ("1.0625",)

    (paper / "paper.md").write_text("The correction is 1.0625.")
    assert measured(paper, pool, seeds=(0,)).missing.literals == ()


def test_words_of_a_message_names_of_axes_and_docstrings_within_need_no_source(paper, pool):
    file = paper / "repo" / "blending.py"
    text = file.read_text()
    changed = text.replace(
        "        if not values:",
        '        pattern = "n h, m h -> h n m"\n'
        "        def within():\n"
        '            """What nobody has said."""\n'
        "        if pattern is None:\n"
        '            raise ValueError("a blend of nothing", 17, pattern)\n'
        "        if not values:",
        1,
    )
    file.write_text(changed)
    assert changed != text

    assert measured(paper, pool, seeds=(0,)).missing.literals == ("17",)


def test_declared_equivalents_are_tried_too(paper, pool):
    folder = paper / "equivalent"
    folder.mkdir()
    killed = measured(paper, pool, seeds=(0,))
    from lmrbench.authoring.audit.mutants import mutants

    task = load_suite(paper.parent)[0]
    survivors = {item.id for item in killed.mutation.survivors}
    mistake = next(mutant.id for mutant in mutants(task) if mutant.id not in survivors)
    (folder / "blend.toml").write_text(f'{mistake} = "it looks harmless"\n')

    found = measured(paper, pool, seeds=(0,))

    assert found.mutation.equivalent == 1
    assert found.mutation.mutants == killed.mutation.mutants - 1
    assert f"the mutant {mistake} is declared equivalent, but the check rejects it" in found.shortfalls

    (folder / "blend.toml").write_text('0123456789ab = "no such mutant"\n')
    with pytest.raises(TaskError, match=r"blend\.toml: there is no mutant 0123456789ab"):
        measured(paper, pool, seeds=(0,))
    (folder / "blend.toml").write_text(f'{mistake} = ""\n')
    with pytest.raises(TaskError, match="a reason is needed"):
        measured(paper, pool, seeds=(0,))


def test_a_certificate_holds_until_the_task_changes(paper, pool):
    task = load_suite(paper.parent)[0]
    assert read_certificate(task) is None
    certificate = measured(paper, pool, seeds=(0,))

    write_certificate(task, certificate)

    assert read_certificate(task) == certificate
    assert list(json.loads((paper / "certificate.json").read_text())) == ["blend"]
    replace(paper / "task.toml", "scaled by", "multiplied by")
    assert read_certificate(load_suite(paper.parent)[0]) is None
