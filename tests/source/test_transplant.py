"""Only the target is taken, and what it needs beside it."""

from typing import Any

import pytest

from lmrbench.errors import SubmissionError
from lmrbench.source.transplant import transplant

MASK = b'''"""A module."""

import math

SCALE = 2


def helper(x):
    return x + 1


class Model:
    def __init__(self, rate):
        self.rate = rate

    @staticmethod
    def loss(x):
        """Doc."""
        raise NotImplementedError


def last():
    return 0
'''
LOSS = "Model.loss"


def into(candidate, mask=MASK, target=LOSS):
    return transplant(mask, candidate, [target])


def test_helpers_imports_and_constants_come_along_and_nothing_else_does():
    result = into(
        "import math\nimport numpy as np\nimport os\nEPS = 1e-9\nUNUSED = 3\nos.system('boom')\n"
        "def inner(x):\n    return np.log(x + EPS)\ndef unused():\n    return 1\n"
        "class Model:\n    def loss(x):\n        return inner(x) * SCALE\n"
    )
    text = result.data.decode()
    assert "import numpy as np" in text
    assert "EPS = 1e-9" in text
    assert "def inner" in text
    assert "@staticmethod\n    def loss(x):\n        return inner(x) * SCALE" in text
    for left in ("import os", "boom", "UNUSED", "unused"):
        assert left not in text
    assert text.startswith('"""A module."""\n\nimport math\n')
    assert text.endswith("def last():\n    return 0\n")
    assert any("unused" in warning for warning in result.warnings)
    compile(text, "m.py", "exec")


def test_methods_that_the_target_uses_come_into_its_class():
    result = into(
        "class Model:\n    def loss(self, x):\n        return self._log(x)\n    def _log(self, x):\n        return x\n"
    )
    assert b"    def _log(self, x):\n        return x" in result.data
    compile(result.data, "m.py", "exec")


def test_what_the_mask_binds_is_never_bound_again():
    candidate = MASK.decode().replace("raise NotImplementedError", "return helper(x)").replace("x + 1", "x + 99")
    result = into(candidate.replace("SCALE = 2", "SCALE = 99"))
    assert b"99" not in result.data
    assert any("helper" in warning for warning in result.warnings)
    assert any("SCALE" in warning for warning in result.warnings)


def test_a_statement_that_binds_a_needed_name_counts_whole():
    candidate = "try:\n    import fast\nexcept ImportError:\n    fast = None\n"
    candidate += "class Model:\n    def loss(x):\n        return fast\n"
    assert b"try:\n    import fast\nexcept ImportError:\n    fast = None" in into(candidate).data


def test_text_takes_the_masks_indentation_and_line_ends_but_strings_stay_as_they_are():
    mask = MASK.replace(b"\n", b"\r\n").replace(b"    ", b"\t")
    # Not a docstring, which Python 3.13 dedents itself.
    result = into('class Model:\n  def loss(x):\n    text = """Text\n      deep."""\n    return text\n', mask)
    assert b"\n" not in result.data.replace(b"\r\n", b"")
    namespace: dict[str, Any] = {}
    exec(compile(result.data, "m.py", "exec"), namespace)
    assert namespace["Model"].loss(3) == "Text\n      deep."


def test_transplanting_again_changes_nothing():
    once = into("EPS = 3\ndef inner(x): return x * EPS\nclass Model:\n    def loss(x): return inner(x)\n")
    assert into(once.data).data == once.data
    assert transplant(once.data, once.data, [LOSS]).data == once.data


@pytest.mark.parametrize(
    ("candidate", "words"),
    [
        ("", "loss"),
        ("def other(): pass\n", "loss"),
        ("class Model:\n    def loss(x):\n        return (\n", "line 3"),
        ("class Model:\n    def loss(x):\n        return 1\n    def loss(x):\n        return 2\nelse:\n", "line 6"),
    ],
)
def test_a_candidate_that_can_not_be_used_says_why(candidate, words):
    with pytest.raises(SubmissionError, match=words):
        into(candidate)
