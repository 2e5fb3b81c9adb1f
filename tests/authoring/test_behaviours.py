"""Behavioural mutants: which ones are made of a function, and which a check rejects."""

import pytest

from lmrbench.authoring.audit.behaviours import BEHAVIOURS, behavioural_mutants
from lmrbench.authoring.audit.inside import wrappers
from lmrbench.authoring.audit.laboratory import Laboratory
from lmrbench.authoring.audit.mutants import mutants
from lmrbench.authoring.audit.mutation import mutations
from lmrbench.authoring.audit.numerics import NUMERICS
from lmrbench.authoring.audit.subjects import RecordedCall
from lmrbench.sandbox.pool import LocalPool
from lmrbench.sandbox.registry import make_sandbox
from lmrbench.tasks.loading import load_suite
from lmrbench.tasks.model import Target

SCORER = '''
"""Scores of examples."""

import torch.nn.functional as F


class Scorer:
    """Scores with a slope."""

    def __init__(self, slope):
        self.slope = slope

    def score(self, values, shift=0.5):
        """Mean of the logarithms of sigmoids of slope times centred values, less a shift; in the dtype of values."""
        if shift < 0:
            raise ValueError("a shift is not negative")
        centred = values - values.mean(dim=-1, keepdim=True)
        return F.logsigmoid(self.slope * centred - shift).sum(dim=-1) / max(values.shape[-1], 1)
'''

CHECK = """
import torch

def cases(seed):
    generator = torch.Generator().manual_seed(seed)
    for shift in (0.3, 0.4, 0.7, 1.1):
        values = torch.randn(4, 5, generator=generator)
        yield {{"name": f"shift {{shift}}", "values": values, "slope": 1.5 + shift, "options": {{"shift": shift}}}}
{more}

def observe(case):
    from blending import Scorer

    scorer = Scorer(case["slope"])
    values = case["values"].clone().requires_grad_()
    given = values * 1
    try:
        result = scorer.score(given, **case["options"])
    except ValueError:
        return "refused"
    if not {sees_everything}:
        return result
    gradient = torch.autograd.grad(result.sum(), values)[0] if result.requires_grad else None
    kept = [given.detach() - values.detach(), sorted(vars(scorer).items())]
    scorer.slope += 0.25
    half = scorer.score(values.detach().half())
    second = scorer.score(values.detach()[:0].double(), 0.1)
    return [result, gradient, kept, str(half.dtype), second, scorer.score(values + 1, 0.2)]
"""
# One input for each regime that the weak check leaves out.
MORE = """
    values = torch.randn(5, 3, generator=generator)
    for number, slope in enumerate((0.0, 1.0, 0.02, 30.0)):
        options = [{"shift": 0.0}, {"shift": 1.0}, {}, {"shift": 9.5}][number]
        yield {"name": f"slope {slope}", "values": values.T, "slope": slope, "options": options}
    yield {"name": "hundreds", "values": 400 * values, "slope": 1.5, "options": {}}
    yield {"name": "double", "values": values.double() + 1e4, "slope": 1.5, "options": {}}
    yield {"name": "one", "values": values[:1], "slope": 1.5, "options": {}}
    yield {"name": "none", "values": values[:, :0], "slope": 1.5, "options": {}}
    yield {"name": "negative", "values": values, "slope": 1.5, "options": {"shift": -0.5}}
"""


def tried(suite, check):
    """The mutations of expression and of behaviour of SCORER under a check."""
    table = suite / "toy" / "task.toml"
    text = table.read_text().replace("Blender.blend", "Scorer.score").replace("1e-9, atol = 1e-12", "1e-5, atol = 1e-6")
    table.write_text(text)
    (suite / "toy" / "repo" / "blending.py").write_text(SCORER)
    (suite / "toy" / "checks" / "blend.py").write_text(check)
    with LocalPool(make_sandbox("bubblewrap", [suite]), size=2) as pool:
        return mutations(Laboratory(load_suite(suite)[0], range(2), pool, lambda *_: None))


MISSED = (
    "+@computed_in('float32', True)",
    "+@half_promoted()",
    "+@changed_in_place('values')",
    "+@needs_rows('values', 1)",
    "+@treated_as_absent('shift', 0, 0.5)",
    "+@kept_from_first_call('self.slope')",
    "+@kept_result()",
    "+@setting_left_changed('self.slope')",
)


@pytest.mark.torch
@pytest.mark.sandbox
def test_a_weak_check_misses_mistakes_of_behaviour(suite):
    expressions, weak = tried(suite, CHECK.format(more="", sees_everything=False))

    assert expressions.score > weak.score < 0.7
    found = {item.diff: item.told_apart_by for item in weak.survivors}
    assert found.keys() >= set(MISSED)
    assert any("(1 / (1 + (-(self.slope * centred - shift)).exp())).log()" in diff for diff in found)
    # With each comes a case that rejects it.
    assert "16, got 'float32'" in found["+@half_promoted()"]
    assert "0 along axis" in found["+@needs_rows('values', 1)"]
    assert "options.shift: 0" in found["+@treated_as_absent('shift', 0, 0.5)"]
    assert "far from zero in float64" in found["+@computed_in('float32', True)"]
    # Where gradients are not observed, nothing shows that one is missing.
    assert "+@detached('values')" not in found
    assert weak.indistinguishable


@pytest.mark.torch
@pytest.mark.sandbox
def test_a_strong_check_rejects_them_all(suite):
    _, strong = tried(suite, CHECK.format(more=MORE, sees_everything=True))

    assert strong.survivors == ()
    assert strong.mutants > len(MISSED)


def made(folder, source, calls=()):
    file = folder / "blending.py"
    file.write_text(source)
    call = {"slots": {}, "raised": ""}
    target = Target(file="blending.py", qualname="Scorer.score")
    recorded = [RecordedCall.model_validate({**call, **item}) for item in calls]
    return [mutant for mutant, _ in behavioural_mutants(file.read_bytes(), target, recorded)]


def test_numbers_that_the_cases_hold_give_the_ends_of_a_clipped_range(tmp_path):
    calls = [{"slots": {"shift": {"kind": "number", "value": value}}} for value in (0.1, 0.9, 0.4, 0.4)]

    diffs = {mutant.diff for mutant in made(tmp_path, SCORER, calls)}

    assert {"+@clipped('shift', 0.4, inf)", "+@clipped('shift', -inf, 0.4)", "+@ignored('shift')"} <= diffs


def test_ids_do_not_depend_on_the_numbers_drawn(tmp_path):
    ids = [
        {mutant.id for mutant in made(tmp_path, SCORER, [{"slots": {"shift": {"kind": "number", "value": x}}}])}
        for x in (0.25, 0.75)
    ]

    assert ids[0] == ids[1] != set()


def test_a_generator_and_a_function_that_is_never_called_have_none(tmp_path):
    assert made(tmp_path, SCORER) == []
    assert made(tmp_path, SCORER.replace("return F", "yield F"), [{}]) == []


def test_every_behaviour_is_a_decorator():
    for item in BEHAVIOURS:
        assert callable(getattr(wrappers, item.name)), item.name


class Owner:
    def __init__(self):
        self.scale = 2

    def times(self, value, power=1):
        if value == "bad":
            raise ValueError(value)
        return {"first": self.scale * value**power, "second": power}


def wrapped(name, *settings):
    class Changed(Owner):
        times = getattr(wrappers, name)(*settings)(Owner.times)

    return Changed()


def test_a_setting_is_put_back_after_a_call_and_left_changed_where_that_is_the_mistake():
    owner = wrapped("clipped", "self.scale", 3, float("inf"))
    assert (owner.times(5)["first"], owner.scale) == (15, 2)

    owner = wrapped("setting_left_changed", "self.scale")
    assert (owner.times(5)["first"], owner.scale) == (10, 3)


def test_each_object_keeps_its_own_first_call():
    one = wrapped("kept_from_first_call", "value")
    other = type(one)()

    assert [one.times(5)["first"], one.times(7)["first"], other.times(7)["first"]] == [10, 10, 14]


def test_an_exception_is_another_or_none():
    with pytest.raises(RuntimeError):
        wrapped("raises_instead", "ValueError", "RuntimeError").times("bad")
    assert wrapped("does_not_raise", "ValueError").times("bad") is None


def test_the_order_of_a_dict():
    assert list(wrapped("order_reversed").times(3)) == ["second", "first"]


FORMS = {
    "epsilon in a division": ("a / b.sum()", "a / (b.sum() + 1e-08)"),
    "epsilon in a function": ("a.sqrt()", "(a + 1e-08).sqrt()"),
    "epsilon under a norm": ("a.norm(dim=-1)", "a.norm(dim=-1) + 1e-08"),
    "log of sum of exp": ("torch.logsumexp(a, dim=1)", "a.exp().sum(1).log()"),
    "softmax of a method": ("a.softmax(-1)", "a.exp() / a.exp().sum(-1, keepdim=True)"),
    "exponents apart": ("torch.exp(a - b)", "torch.exp(a) / torch.exp(b)"),
    "a mask by product": ("a.masked_fill(m, 0.0)", "a * ~m + 0.0 * m"),
    "a choice by products": ("torch.where(m, a, b)", "a * m + b * ~m"),
    "a finite minimum": ("a.masked_fill(m, -math.inf)", "a.masked_fill(m, -10000.0)"),
    "rows": ("a[m].sum()", "(a * m).sum()"),
    "ties of sorted": ("sorted(a, key=b)", "sorted(list(a)[::-1], key=b)"),
    "ties of argmax": ("a.argmax(1)", "a.shape[1] - 1 - a.swapaxes(0, 1).flip(0).swapaxes(0, 1).argmax(1)"),
    "falsy": ("a if m is None else b", "a if not m else b"),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_that_is_equal_on_paper(suite, name):
    plain, other = FORMS[name]
    file = suite / "toy" / "repo" / "blending.py"
    start, end = file.read_text().split("        factors = ")[0], "        return 0\n"
    file.write_text(f"{start}        result = {plain}\n{end}")

    diffs = [mutant.diff for mutant in mutants(load_suite(suite)[0], NUMERICS)]

    assert any(f"+    result = {other}\n" in diff + "\n" for diff in diffs), diffs
