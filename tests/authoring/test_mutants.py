"""Mutants of one expression: each is a single change that compiles."""

import ast

import pytest

from lmrbench.authoring.audit.mutants import mutants
from lmrbench.tasks.loading import load_suite

LOSS = '''
class Trainer:
    def loss(self, chosen, rejected, mask, beta=0.5):
        """Of shape (batch,)."""
        margin = chosen - rejected
        total = 0
        for step in range(3):
            if step > 1 and beta != 0:
                total += step
        return F.logsigmoid(beta * margin[1:]).masked_fill(~mask, 0.0).mean(dim=-1, keepdim=True), margin.detach()
'''

MISTAKES = {
    "the sign of a term": ("chosen - rejected", "chosen + rejected"),
    "a dropped term": ("margin = chosen - rejected", "margin = chosen\n"),
    "a factor": ("beta * margin", "beta / margin"),
    "an operand in place": ("chosen - rejected", "chosen.sub_(rejected)"),
    "no stop-gradient": ("margin.detach()", "margin)"),
    "one stop-gradient too many": ("chosen - rejected", "(chosen - rejected).detach()"),
    "the mask inverted": ("~mask", "fill(mask"),
    "the mask dropped": (".masked_fill(~mask, 0.0)", "[1:]).mean"),
    "the value at the mask": ("~mask, 0.0", "~mask, 1.0"),
    "mean for sum": (".mean(", ".sum("),
    "another axis": ("dim=-1", "dim=-2"),
    "keepdim": ("keepdim=True", "keepdim=False"),
    "no keyword": (", keepdim=True", "dim=-1)"),
    "probabilities for logarithms": ("F.logsigmoid", "F.sigmoid"),
    "a shift by one": ("margin[1:]", "margin[2:]"),
    "no slice": ("margin[1:]", "margin[:]"),
    "a comparison": ("step > 1", "step >= 1"),
    "a boolean": ("step > 1 and beta != 0", "step > 1 or beta != 0"),
    "a constant": ("range(3)", "range(4)"),
    "a branch that is never taken": ("if step > 1 and beta != 0", "if False"),
    "a removed statement": ("total += step", "pass"),
    "a loop left early": ("", "break"),
    "another order": ("margin.detach()", "(margin.detach(), "),
}


@pytest.fixture
def changed(suite):
    """The mutants of LOSS, as a target in a copy of the toy suite."""
    table = suite / "toy" / "task.toml"
    table.write_text(table.read_text().replace("blending.py::Blender.blend", "blending.py::Trainer.loss"))
    file = suite / "toy" / "repo" / "blending.py"
    file.write_text(file.read_text() + LOSS)
    return mutants(load_suite(suite)[0])


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_of_the_field_is_among_them(changed, mistake):
    gone, come = MISTAKES[mistake]
    found = [
        mutant
        for mutant in changed
        if (not gone or any(line.startswith("-") and gone in line for line in mutant.diff.splitlines()))
        and any(come in line + "\n" for line in mutant.diff.splitlines() if line.startswith("+"))
    ]
    assert found, [mutant.diff for mutant in changed]


def test_docstring_signature_and_annotations_stay(changed):
    for mutant in changed:
        tree = ast.parse(mutant.file)
        loss = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "loss")
        assert ast.get_docstring(loss) == "Of shape (batch,)."
        assert ast.unparse(loss.args) == "self, chosen, rejected, mask, beta=0.5"
