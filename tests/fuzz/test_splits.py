"""However a right answer is split into blocks, with whatever between them, the same code is taken of it."""

import ast
import textwrap
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmrbench.source.responses import from_response
from lmrbench.source.transplant import names_of, transplant

MASK = '''"""Scores."""

import math

from torch import Tensor


class Model:
    """A model."""

    def __init__(self, rate):
        self.rate = rate

    def loss(self, values):
        """The rate times the sum."""
        raise NotImplementedError


def score(values, power=1):
    """The sum of powers."""
    raise NotImplementedError


def last(model):
    return model.rate
'''
# Top-level statements that make up a right answer, and the target that they define.
ANSWERS = {
    "a function with a helper and an import": (
        "score",
        [
            "import operator\nfrom functools import reduce",
            "def raised(value, power):\n    return operator.pow(value, power)",
            "def score(values, power=1):\n    raised_ones = [raised(value, power) for value in values]\n\n"
            "    # From the left.\n    return reduce(operator.add, raised_ones, 0)",
        ],
    ),
    "a method with its helpers": (
        "Model.loss",
        [
            "@staticmethod\ndef _sum(values):\n    return sum(values)",
            "def _scaled(self, total):\n    return self.rate * total",
            "def loss(self, values):\n    return self._scaled(self._sum(values))",
        ],
    ),
    "a dataclass": (
        "score",
        [
            "from dataclasses import dataclass, field",
            '@dataclass\nclass Sum:\n    """A sum."""\n\n    total: int = 0\n'
            "    parts: list[int] = field(default_factory=list)",
            "def score(values, power=1):\n    found = Sum()\n    for value in values:\n"
            "        found.total += value**power\n"
            "    return found.total",
        ],
    ),
    "constants": (
        "score",
        [
            "ZERO = 0",
            "POWERS = {\n    1: 1,\n    2: 2,\n}",
            "POWERS[3] = 3",
            "def score(values, power=1):\n    return sum((value ** POWERS[power] for value in values), ZERO)",
        ],
    ),
    "a text that looks like Markdown": (
        "score",
        [
            'NOTE = """\n```python\nx = 1\n```\nEnd.\n"""',
            "def score(values, power=1):\n    assert NOTE.count('```') == 2\n"
            "    return sum(value**power for value in values)",
        ],
    ),
    "a class with a helper": (
        "Model.loss",
        [
            "def _sum(values):\n    return sum(values)",
            "class Model:\n    def _scaled(self, total):\n        return self.rate * total\n\n"
            "    def loss(self, values):\n        return self._scaled(_sum(values))",
        ],
    ),
    "a whole file": (
        "score",
        [
            *(text for text in MASK.split("\n\n\n")[:2]),
            "def score(values, power=1):\n    return sum(value**power for value in values)",
            "def last(model):\n    return model.rate",
        ],
    ),
}
PROSE = st.sampled_from(
    (
        "Sure! Here is how I would do it.",
        "This function works by adding up the powers of all the values.",
        "Then:",
        "Note that isn't the only way; it's the shortest.\n\n- It is short.\n- It is fast (see below).",
        "### Explanation\n\n1. **First** it reads.\n2. Then it adds.",
        "If you have any questions, let me know.",
        "The formula is $s = \\sum_i v_i^p$, so that `score([1])` is 1.",
    )
)
OTHER_BLOCKS = st.sampled_from(
    (
        "```bash\npip install torch\n```",
        "```\n$ python scores.py\n14\n```",
        "```text\nscore: 14\n```",
        "```math\ns = \\sum_i v_i^p\n```",
        "```latex\n\\mathcal{L} = -\\log\\sigma(x)\n```",
        "```mermaid\ngraph TD; A-->B\n```",
        "```\nfor each value: add its power\n```",
        '```json\n{"power": 2}\n```',
        "```\n14\n```",
        "~~~console\n>>> score([1])\n~~~",
    )
)
FENCES = st.sampled_from(
    ("```python", "```py", "```", "```Python", "~~~python", "````python", '```python title="scores.py"')
)


@st.composite
def responses(draw):
    """A name of `ANSWERS`, and a response that holds its code in one or more blocks."""
    name = draw(st.sampled_from(sorted(ANSWERS)))
    statements = ANSWERS[name][1]
    cuts = draw(st.lists(st.booleans(), min_size=len(statements) - 1, max_size=len(statements) - 1))
    blocks = [statements[0]]
    for cut, statement in zip(cuts, statements[1:], strict=True):
        if cut:
            blocks.append(statement)
        else:
            blocks[-1] += "\n\n\n" + statement
    parts = []
    others = st.lists(st.one_of(PROSE, OTHER_BLOCKS), max_size=2)
    for block in blocks:
        parts += draw(others)
        opening = draw(FENCES)
        # A block without a language is code if it says so itself.
        if opening == "```" and "def " not in block and "import " not in block:
            opening = "```python"
        mark = opening[: len(opening) - len(opening.lstrip("`~"))]
        margin = draw(st.sampled_from(("", "", "  "))) if '"""' not in block else ""
        if draw(st.booleans()) and '"""' not in block and "def " in block:
            block = textwrap.indent(block, "    ")
        parts.append(textwrap.indent(f"{opening}\n{block}\n", margin) + margin + mark)
    parts += draw(others)
    return name, "\n\n".join(parts)


@st.composite
def bare_responses(draw):
    """The same without a fence, amid prose."""
    name = draw(st.sampled_from(sorted(ANSWERS)))
    parts = []
    for statement in ANSWERS[name][1]:
        parts += draw(st.lists(PROSE, max_size=1))
        parts.append(statement)
    parts += draw(st.lists(PROSE, max_size=2))
    return name, "\n\n".join(parts)


def taken(name, text):
    """The syntax tree of the file with the answer in its place."""
    target = ANSWERS[name][0]
    response = from_response(text, [target], names_of(MASK.encode()))
    return ast.dump(ast.parse(transplant(MASK.encode(), response.text, [target]).data))


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_in_one_piece_is_right(name):
    target, statements = ANSWERS[name]
    tree = ast.parse(transplant(MASK.encode(), "\n\n\n".join(statements), [target]).data)
    module: dict[str, Any] = {"__name__": "math"}
    exec(compile(ast.fix_missing_locations(without_torch(tree)), "scores.py", "exec"), module)
    if target == "score":
        assert module["score"]([1, 2, 3], 2) == 14
    else:
        assert module["Model"](2).loss([1, 2]) == 6


def without_torch(tree):
    tree.body = [node for node in tree.body if getattr(node, "module", "") != "torch"]
    return tree


@given(responses())
def test_the_same_is_taken_of_any_split_into_blocks(response):
    name, text = response
    assert taken(name, text) == taken(name, "\n\n\n".join(ANSWERS[name][1]))


@given(bare_responses())
def test_the_same_is_taken_without_fences(response):
    name, text = response
    assert taken(name, text) == taken(name, "\n\n\n".join(ANSWERS[name][1]))
