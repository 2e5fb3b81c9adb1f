"""A mask takes the bodies and not one byte more; a target is found or the reason is said."""

import ast
import dataclasses
import fractions
import textwrap
from pathlib import Path

import pytest

from lmrbench.errors import TaskError
from lmrbench.source.functions import find, functions_named, mask
from lmrbench.source.syntax import ParsedSource, decode
from lmrbench.source.transplant import transplant

STDLIB = [Path(str(module.__file__)) for module in (dataclasses, fractions, textwrap)]


def masked(source, *names):
    data = source if isinstance(source, bytes) else source.encode()
    return mask(data, names)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(x):\n    return x\n", "def f(x):\n    raise NotImplementedError\n"),
        ("def f(x):\n    return x", "def f(x):\n    raise NotImplementedError"),
        ("def f(x): return x\ny = 1\n", "def f(x): raise NotImplementedError\ny = 1\n"),
        ("def f(x):\r\n\treturn x\r\ny = 1\r\n", "def f(x):\r\n\traise NotImplementedError\r\ny = 1\r\n"),
        ('def f(x):\n    """Doc."""\n    return x\n', 'def f(x):\n    """Doc."""\n    raise NotImplementedError\n'),
        ('def f(x):\n    """Doc."""\n', 'def f(x):\n    """Doc."""\n    raise NotImplementedError\n'),
        (
            "def f(\n    x,  # kept\n):  # kept too\n    # gone\n    return x\n    # gone\n# kept\n",
            "def f(\n    x,  # kept\n):  # kept too\n    raise NotImplementedError\n# kept\n",
        ),
        (
            "@a\n@b(1)\nasync def f(x):\n    def g():\n        return 2\n    return g\n",
            "@a\n@b(1)\nasync def f(x):\n    raise NotImplementedError\n",
        ),
        ("x = '\u2028'\ndef f():\n    return 'é'\n", "x = '\u2028'\ndef f():\n    raise NotImplementedError\n"),
    ],
)
def test_the_body_goes_and_every_other_byte_stays(source, expected):
    assert masked(source, "f") == expected.encode()


def test_other_encodings_and_a_byte_order_mark_stay():
    latin = "# coding: latin-1\nname = 'é'\ndef f():\n    return 'ü'\n".encode("latin-1")
    assert masked(latin, "f") == "# coding: latin-1\nname = 'é'\ndef f():\n    raise NotImplementedError\n".encode(
        "latin-1"
    )
    marked = b"\xef\xbb\xbfdef f():\n    return 1\n"
    assert masked(marked, "f") == b"\xef\xbb\xbfdef f():\n    raise NotImplementedError\n"


CLASSES = """
from typing import overload

class A:
    def m(self):
        return 1

    class Inner:
        def m(self):
            return 2

    @property
    def p(self):
        return 3

    @p.setter
    def p(self, value):
        self.q = value

class B:
    def m(self):
        return 4

@overload
def f(x: int) -> int: ...
@overload
def f(x: str) -> str: ...
def f(x):
    return x

if True:
    def g():
        return 5
"""


@pytest.mark.parametrize(
    ("name", "gone"),
    [
        ("A.m", "return 1"),
        ("A.Inner.m", "return 2"),
        ("A.p", "return 3"),
        ("B.m", "return 4"),
        ("f", "return x"),
        ("g", "return 5"),
    ],
)
def test_the_right_one_of_many_is_found(name, gone):
    result = masked(CLASSES, name).decode()
    bodies = ["return 1", "return 2", "return 3", "return 4", "return x", "return 5", "self.q = value"]
    assert [body for body in bodies if body not in result] == [gone]


def test_several_targets_of_one_file_are_masked_at_once_in_any_order():
    assert masked(CLASSES, "B.m", "A.m") == masked(CLASSES, "A.m", "B.m")
    assert masked(CLASSES, "A.m", "B.m").count(b"NotImplementedError") == 2


@pytest.mark.parametrize(
    ("source", "name", "words"),
    [
        (CLASSES, "A.n", "A.m"),
        (CLASSES, "A", "class"),
        ("f = lambda: 1\n", "f", "f"),
        ("if x:\n    def f(): return 1\nelse:\n    def f(): return 2\n", "f", "f"),
        ("def f(:\n", "f", "line 1"),
    ],
)
def test_a_target_that_can_not_be_masked_is_a_task_error_that_names_it(source, name, words):
    with pytest.raises(TaskError, match=words):
        masked(source, name)


def _functions(source):
    found = []

    def visit(body, path):
        for node in body:
            if isinstance(node, ast.ClassDef):
                visit(node.body, [*path, node.name])
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found.append(".".join([*path, node.name]))

    parsed = ParsedSource.parse(decode(source)[0])
    visit(parsed.tree.body, [])
    return [name for name in dict.fromkeys(found) if len(functions_named(parsed, name)) == 1]


@pytest.mark.parametrize("path", STDLIB, ids=lambda path: path.name)
def test_for_every_function_of_a_real_module_the_rest_stays_and_the_golden_goes_back_in(path):
    golden = path.read_bytes()
    names = _functions(golden)
    assert len(names) > 10
    for name in names:
        result = mask(golden, [name])
        before, after = find(golden, name), find(result, name)
        text, left = golden.decode(), result.decode()
        assert text[: before.body] == left[: after.body]
        assert text[before.end :] == left[after.end :]
        back = transplant(result, golden, [name])
        assert back.data == golden
        assert back.warnings == ()
