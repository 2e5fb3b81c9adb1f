"""What people and models write as an answer: it is read as they meant it, or refused with the line that is at fault."""

import html
import json
import sys
import textwrap
import types
from typing import Any

import pytest

from lmrbench.errors import SubmissionError
from lmrbench.source.responses import from_response
from lmrbench.source.transplant import names_of, transplant

MASK = b'''"""Scores."""

import copy
import math
from dataclasses import dataclass

SCALE = 2


@dataclass
class Config:
    """How scores are made."""

    power: int = 1


def ratio(model, batch):
    return model.rate * len(batch)


class Model:
    """A model."""

    def __init__(self, rate):
        self.rate = rate

    def doubled(self):
        return 2 * self.rate

    def loss(self, values):
        """The rate times the sum."""
        raise NotImplementedError


def score(values, power=1):
    """The sum of powers."""
    raise NotImplementedError


def scale_of(model):
    return copy.copy(model).rate * SCALE
'''
FUNCTION = """def score(values, power=1):
    total = 0
    for value in values:
        total += value**power
    return total
"""
METHOD = """def loss(self, values):
    total = sum(values)
    return self.rate * total
"""
HELPER = """def raised(value, power):
    return value**power
"""
CALLER = """def score(values, power=1):
    return sum(raised(value, power) for value in values)
"""
INDENTED = textwrap.indent(METHOD, "    ")
FILE = MASK.decode()
FILE_WITH_FUNCTION = FILE.replace(
    '    """The sum of powers."""\n    raise NotImplementedError',
    textwrap.indent(FUNCTION.split("\n", 1)[1], "").rstrip(),
)
FILE_WITH_METHOD = FILE.replace("        raise NotImplementedError", "        return self.rate * sum(values)", 1)


def read(text, target="score"):
    """The module that an answer makes of the mask, and the warnings."""
    response = from_response(text, [target], names_of(MASK))
    result = transplant(MASK, response.text, [target])
    module: dict[str, Any] = sys.modules.setdefault("scores_of_a_test", types.ModuleType("scores_of_a_test")).__dict__
    for name in [name for name in module if not name.startswith("__")]:
        del module[name]
    exec(compile(result.data, "scores.py", "exec"), module)
    return module, (*response.warnings, *result.warnings)


def refusal(text, target="score"):
    with pytest.raises(SubmissionError) as error:
        read(text, target)
    return str(error.value)


def fenced(code, info="python", fence="```"):
    return f"{fence}{info}\n{code}{fence}\n"


FUNCTIONS = {
    "bare": FUNCTION,
    **{
        f"fence of {info!r}": f"Here it is:\n\n{fenced(FUNCTION, info)}\nIt adds the powers."
        for info in (
            *("python", "python3", "py", "Python", "PYTHON", "", " python", "ipython", "pycon", "{.python}"),
            *('python title="scores.py"', "python:scores.py", "python {linenos=true}"),
        )
    },
    "tildes": fenced(FUNCTION, fence="~~~"),
    "four backticks": fenced(FUNCTION, fence="````"),
    "a fence without end": f"```python\n{FUNCTION}",
    "a fence without end, and prose": f"```python\n{FUNCTION}\nThis adds up the powers.\n",
    "an end without fence": f"{FUNCTION}```\nThis adds up the powers.\n",
    "code behind the fence": f"```python {FUNCTION}```\n",
    "a fence behind prose": f"Here it is: ```python\n{FUNCTION}```\n",
    "an end with text": f"```python\n{FUNCTION}``` That's it.\n",
    "an end on the last line of code": f"```python\n{FUNCTION.rstrip()}```\nbye",
    "two ends on last lines of code": f"```python\n{HELPER.rstrip()}```\nthen\n```python\n{CALLER.rstrip()}```",
    "a forgotten end": f"```python\n{HELPER}\n```python\n{CALLER}```\n",
    "an item of a list": f"1. First:\n\n   ```python\n{textwrap.indent(FUNCTION, '   ')}   ```\n",
    "the fence as an item": f"- ```python\n{textwrap.indent(FUNCTION, '  ')}  ```\n",
    "an indented block": f"The answer:\n\n{textwrap.indent(FUNCTION, '    ')}\nDone.",
    "a fence in a docstring": fenced(
        FUNCTION.replace("    total = 0", '    """Doc.\n\n    ```\n    score([1])\n    ```\n    """\n    total = 0')
    ),
    "a flush fence in a docstring": "Here:\n"
    + fenced(FUNCTION.replace("    total = 0", '    """Doc.\n\n```python\nscore([1])\n```\n"""\n    total = 0')),
    "a fence in comments": fenced(
        FUNCTION.replace("    total = 0", "    # ```\n    # score\n    # ```\n    total = 0")
    ),
    "two drafts": fenced(FUNCTION.replace("**", "+")) + "Better:\n" + fenced(FUNCTION),
    "two drafts in one block": fenced(FUNCTION.replace("**", "+") + "\n\n" + FUNCTION),
    "two bare drafts": FUNCTION.replace("**", "+") + "\n\n" + FUNCTION,
    "a broken draft": fenced(FUNCTION.replace("power=1):", "power=1")) + "Better:\n" + fenced(FUNCTION),
    "a stub, then the function": fenced("def score(values, power=1):\n    ...\n") + fenced(FUNCTION),
    "the function, then a stub": fenced(FUNCTION) + "In short:\n" + fenced("def score(values, power=1):\n    ...\n"),
    "the function, then the mask": fenced(FUNCTION)
    + "instead of\n"
    + fenced('def score(values, power=1):\n    """The sum of powers."""\n    raise NotImplementedError\n'),
    "usage": fenced(FUNCTION) + "Usage:\n" + fenced("print(score([1, 2]))\n"),
    "a helper in a block of its own": fenced(HELPER) + "then\n" + fenced(CALLER),
    "a helper behind it": fenced(CALLER) + fenced(HELPER),
    "a stub of the helper behind it": fenced(HELPER + CALLER) + fenced("def raised(value, power): ...\n"),
    **{
        f"a block of {info or 'nothing'}, {'first' if first else 'last'}": (fenced(content, info) if first else "")
        + fenced(HELPER)
        + fenced(CALLER)
        + ("" if first else fenced(content, info))
        for first in (True, False)
        for info, content in {
            "bash": "pip install torch\n",
            "latex": "\\mathcal{L} = -\\log\\sigma(x)\n",
            "mermaid": "graph TD; A-->B\n",
            "text": "for each value: add its power\n",
            "json": '{"power": 2}\n',
            "diff": "-return 1\n+return 2\n",
            "": "$ pip install torch\n",
        }.items()
    },
    "pseudocode": fenced("for each value: add its power\n", "") + fenced(HELPER) + fenced(CALLER),
    "an output": fenced(HELPER) + fenced(CALLER) + fenced("14\n", ""),
    "an output of a name": fenced(HELPER) + fenced(CALLER) + fenced("total = 14\n", ""),
    "a formula that binds a name": fenced(FUNCTION) + fenced("total = sum(x_i)\n", "math"),
    "a constant without a language": fenced("POWERS = {1: 1, 2: 2}\n", "")
    + fenced(FUNCTION.replace("**power", "**POWERS[power]")),
    "an import in a block of its own": fenced("import operator\n")
    + fenced(FUNCTION.replace("value**power", "operator.pow(value, power)")),
    "other language, wrong tag": fenced(FUNCTION, "text"),
    "markdown around it": f"````markdown\nThe answer:\n\n{fenced(FUNCTION)}````\n",
    "prose around bare code": f"Sure! Here is the function you need.\n\n{FUNCTION}\nIt adds up; isn't that nice?",
    "prose at column 0": f"{FUNCTION}This function works by adding up the powers.\n",
    "prose that begins as code does": f"class names are kept, and\nimport statements too.\n\n{FUNCTION}\n"
    "For each value the power is added,\nif there is one.\nwith kind regards from me\n",
    "lists around bare code": f"Steps:\n- read the values\n  - one by one\n\n{FUNCTION}\nNotes:\n1. It is short.\n"
    f"* It is fast.\n",
    "a sentence in brackets": f"if this is prose (see below)\n\n{FUNCTION}",
    "a lone surrogate": FUNCTION.replace("total = 0", "total = 0  # \ud800"),
    "a heading": f"Code:\n{FUNCTION}",
    "an answer in tags": f"<answer>\n{FUNCTION}</answer>\n",
    "tags of a page": f"<p>Here:</p>\n<pre><code>{FUNCTION.rstrip()}</code></pre>\n",
    "lines of a page": "<pre>\n" + FUNCTION.replace("\n", "<br>\n") + "</pre>\n",
    "entities": html.escape(FUNCTION.replace("total = 0", "total = 0 if 1 > 0 else (0 < 1)")),
    "windows lines": FUNCTION.replace("\n", "\r\n"),
    "windows lines in a fence": fenced(FUNCTION).replace("\n", "\r\n"),
    "old mac lines": FUNCTION.replace("\n", "\r"),
    "mixed lines": FUNCTION.replace("\n", "\r\n", 2),
    "tabs": FUNCTION.replace("    ", "\t"),
    "two spaces": FUNCTION.replace("    ", "  "),
    "a byte order mark": "\ufeff" + FUNCTION,
    "a byte order mark in a fence": fenced("\ufeff" + FUNCTION),
    "a zero-width space first": "\u200b" + FUNCTION,
    "a zero-width space behind the fence": f"```python\u200b\n{FUNCTION}```",
    "a zero-width space before the fence": f"\u200b```python\n{FUNCTION}\u200b```",
    "zero-width characters in lines": FUNCTION.replace("total", "to\u200dtal").replace("\n", "\u2060\n"),
    "a zero-width space on a line": FUNCTION.replace("    return", "\u200b\n    return"),
    "no-break spaces in the margin": FUNCTION.replace("    ", "\u00a0" * 4),
    "one no-break space": FUNCTION.replace("return total", "return\u00a0total"),
    "wide spaces": FUNCTION.replace(" += ", "\u2009+=\u3000"),
    "colours of a terminal": "\x1b[32m" + FUNCTION.replace("total", "\x1b[1;34mtotal\x1b[0m") + "\x1b[0m",
    "a form feed": FUNCTION.replace("    total = 0", "\f    total = 0"),
    "a NUL": fenced(FUNCTION + "\0"),
    "a line separator": FUNCTION.replace("total = 0", "total = 0  # a\u2028b"),
    "names that are not ASCII": FUNCTION.replace("total", "größe").replace("value", "α"),
    "a margin of four": textwrap.indent(FUNCTION, "    "),
    "a margin, the first line stripped": textwrap.indent(HELPER + "\n" + CALLER, "    ").strip(),
    "an ellipsis for the rest": f"import math\n...\n\n{FUNCTION}\n...\n",
    "comments for the rest": f"# ... existing code ...\n\n{FUNCTION}\n# ... rest of the file ...\n",
    "a whole file": FILE_WITH_FUNCTION,
    "a whole file in a fence": fenced(FILE_WITH_FUNCTION),
    "a whole file, another function changed": FILE_WITH_FUNCTION.replace("copy.copy(model).rate", "undefined_name"),
    "part of a file": fenced(f"import math\n\nSCALE = 2\n\n...\n\n{FUNCTION}"),
    "tuples are imported": f"from typing import Tuple\n\n"
    f"{FUNCTION.replace('power=1):', 'power=1) -> Tuple[int, int]:')}",
    "a quoted annotation": FUNCTION.replace("power=1):", "power=1) -> 'Unknown':"),
    "a constant behind it": FUNCTION.replace("**power", "**(power + ZERO)") + "\n\nZERO = 0\n",
    "a constant in a block before": fenced("ZERO = 0\n") + fenced(FUNCTION.replace("**power", "**(power + ZERO)")),
    "a dataclass": "from dataclasses import dataclass\n\n\n@dataclass\nclass Sum:\n    total: int = 0\n\n\n"
    + FUNCTION.replace("total = 0", "total = Sum().total"),
    "a guard for the main program": f'{FUNCTION}\n\nif __name__ == "__main__":\n    print(score([1]))\n',
    "a call": f"{FUNCTION}\nprint(score([1, 2, 3]))\n",
    "an exit": f"{FUNCTION}\nraise SystemExit(1)\n",
    "a star import": f"from math import *\n\n{FUNCTION.replace('total = 0', 'total = floor(0.5)')}",
    "a missing package that nothing needs": f"import no_such_package\n\n{FUNCTION}",
    "a try around an import": "try:\n    import no_such_package as fast\nexcept ImportError:\n    fast = None\n\n\n"
    + FUNCTION.replace("total = 0", "total = 0 if fast is None else 1"),
    "a decorator": f"import functools\n\n\n@functools.wraps(len)\n{FUNCTION}",
    "a match and a walrus": FUNCTION.replace(
        "    return total",
        "    if (found := total) is None:\n        pass\n    match found:\n        case _:\n            return found",
    ),
    "a continued line": FUNCTION.replace("total = 0", "total = \\\n        0"),
    "white space behind lines": FUNCTION.replace("\n", "   \n"),
    "no line end": FUNCTION.rstrip("\n"),
    "magic of a notebook": f"%matplotlib inline\n!pip install torch\n{FUNCTION}",
    "magic of a notebook in a fence": fenced(f"%matplotlib inline\n!pip install torch\n{FUNCTION}"),
    "a mark of a cell": f"# %%\n{FUNCTION}",
    "an end token": f"{FUNCTION}<|endoftext|>",
    "an end token on the last line": f"{FUNCTION.rstrip()}<|im_end|>\n",
    "an end token behind the fence": f"{fenced(FUNCTION).rstrip()}<|im_end|>",
    "a comment at the margin in the body": f"Here:\n"
    f"{FUNCTION.replace('    return', '# the end' + chr(10) + '    return')}",
    "prompts of Python": fenced(
        ">>> def score(values, power=1):\n...     return sum(v**power for v in values)\n...\n>>> score([1])\n1\n",
        "pycon",
    ),
    "a quotation": "".join(f"> {line}\n" for line in fenced(FUNCTION).splitlines()),
    "a quotation of bare code": "".join(f"> {line}\n" for line in FUNCTION.splitlines()),
    "a quotation amid prose": "As you asked:\n\n"
    + "".join(f">{line}\n" for line in fenced(FUNCTION).split("\n"))
    + "\nBye.",
    "JSON": json.dumps({"code": FUNCTION}),
    "JSON in a fence": f"Here:\n{fenced(json.dumps({'code': FUNCTION}, indent=1) + chr(10), 'json')}",
    "JSON without a language": fenced(json.dumps({"answer": FUNCTION}) + "\n", ""),
    "JSON in JSON": json.dumps({"answer": {"code": FUNCTION, "language": "python"}}),
    "JSON of lines": json.dumps({"code": FUNCTION.split("\n")}),
    "a helper between blocks": f"First a helper:\n\n{HELPER}\nand then\n\n{fenced(CALLER)}",
    "a helper in a block, and the function bare": f"First a helper:\n\n{fenced(HELPER)}\nand then\n\n{CALLER}\n"
    f"That is it.",
    "a formula that is named like a name of the file": f"The mean is\n\nmath = x_bar\n\nand so\n\n"
    f"{fenced(FUNCTION.replace('**power', '**math.floor(power)'))}{fenced('math = 0.3' + chr(10), '')}",
    "the language at the end": f"```python\n{FUNCTION}```python\nThat is it.",
    "headings and tables": f"### Answer\n\n{FUNCTION}\n### Why\n**Sum:** it adds.\n\n| a | b |\n|---|---|\n"
    f"| 1 | 2 |\n---\n`score` adds.",
    "a formula beside bare code": f"{FUNCTION}\n$$ s = \\sum_i v_i^p $$\ns = Σ vᵢ·p\nscore(values) adds them.\n",
    "JSON by file": json.dumps({"scores.py": FUNCTION}),
    "JSON with an explanation": json.dumps({"explanation": "It adds up.", "code": fenced(FUNCTION)}),
    "JSON with real line ends": '{"code": "' + FUNCTION + '"}',
    **{
        f"reasoning in {begin}": f"{begin}\nmaybe\n{fenced(FUNCTION.replace('**', '+'))}{end}\n\n{FUNCTION}"
        for begin, end in {
            "<think>": "</think>",
            "<thinking>": "</thinking>",
            "<reasoning>": "</reasoning>",
            "<Thought>": "</Thought>",
            "[THINK]": "[/THINK]",
        }.items()
    },
    "bare reasoning": f"<think>\nmaybe\n\n{FUNCTION.replace('**', '+')}\nno, rather\n</think>\n\n{FUNCTION}",
    "reasoning with a fence without end": f"<think>\n```python\n{FUNCTION.replace('**', '+')}\nhm\n</think>\n\n"
    f"{fenced(FUNCTION)}",
    "reasoning without a beginning": f"maybe\n{fenced(FUNCTION.replace('**', '+'))}</think>\n{FUNCTION}",
    "reasoning twice": f"<think>a</think>{FUNCTION.replace('**', '+')}<think>b</think>\n{FUNCTION}",
    "a tag of reasoning in a string": fenced(
        FUNCTION.replace("total = 0", 'total = len("a</think>b".split("</think>")[0]) - 1')
    ),
    "a tag of reasoning in a docstring": fenced(
        FUNCTION.replace("total = 0", '"""Drop what is before </think> here."""\n    total = 0')
    ),
    "a future import": "from __future__ import annotations\n\n" + FUNCTION.replace("values,", "values: Unknown,"),
    "types that only a checker knows": "from __future__ import annotations\nfrom typing import TYPE_CHECKING\n\n"
    "if TYPE_CHECKING:\n    from nowhere import Unknown\n\n\n"
    + FUNCTION.replace("power=1):", "power: Unknown = 1) -> Unknown:"),
    "a helper of the same name": "def ratio(value, power):\n    return value**power\n\n\n"
    + CALLER.replace("raised", "ratio"),
    "an import of the same name": f"import operator as copy\n\n{CALLER.replace('raised', 'copy.pow')}",
    "a constant of the same name": "SCALE = 0\n\n" + FUNCTION.replace("total = 0", "total = SCALE"),
}
METHODS = {
    "the answer's own helper of a name of the module": "def ratio(values):\n    return sum(values)\n\n\nclass Model:\n"
    + INDENTED.replace("sum(", "ratio("),
    "bare": METHOD,
    "indented": INDENTED,
    "the first line stripped": METHOD.replace("\n    ", "\n        "),
    "indented in a fence": fenced(INDENTED),
    "in its class": f"class Model:\n{INDENTED}",
    "in its class in a fence": fenced(f"class Model:\n{INDENTED}"),
    "in a class with a base": f"class Model(object):\n{INDENTED}",
    "in a class with another constructor": f"class Model:\n    def __init__(self):\n        self.rate = 5\n\n"
    f"{INDENTED}",
    "a whole file": FILE_WITH_METHOD,
    "a whole file in a fence": fenced(FILE_WITH_METHOD),
    "a class with a helper": f"class Model:\n    def _sum(self, values):\n        return sum(values)\n\n"
    f"{INDENTED.replace('sum(', 'self._sum(')}",
    "a class with a private helper": f"class Model:\n    def __sum(self, values):\n        return sum(values)\n\n"
    f"{INDENTED.replace('sum(', 'self.__sum(')}",
    "a helper of the module": f"def _sum(values):\n    return sum(values)\n\n\nclass Model:\n"
    f"{INDENTED.replace('sum(', '_sum(')}",
    "a helper of the module and a bare method": f"def _sum(values):\n    return sum(values)\n\n\n"
    f"{METHOD.replace('sum(', '_sum(')}",
    "blocks of a helper and of a method": fenced("def _sum(values):\n    return sum(values)\n")
    + fenced(METHOD.replace("sum(", "_sum(")),
    "a constant of the class": f"class Model:\n    ZERO = 0\n\n"
    f"{INDENTED.replace('sum(values)', 'sum(values) + self.ZERO')}",
    "an indented constant of the class": f"    ZERO = 0\n\n"
    f"{INDENTED.replace('sum(values)', 'sum(values) + self.ZERO')}",
    "a property": f"class Model:\n    @property\n    def zero(self):\n        return 0\n\n"
    f"{INDENTED.replace('sum(values)', 'sum(values) + self.zero')}",
    "a bare property": f"@property\ndef zero(self):\n    return 0\n\n\n"
    f"{METHOD.replace('sum(values)', 'sum(values) + self.zero')}",
    "a bare helper": f"def _sum(self, values):\n    return sum(values)\n\n\n{METHOD.replace('sum(', 'self._sum(')}",
    "a bare helper behind it": f"{METHOD.replace('sum(', 'self._sum(')}\n\ndef _sum(self, values):\n"
    f"    return sum(values)\n",
    "a bare helper of a bare helper": f"{METHOD.replace('sum(', 'self._sum(')}\n\ndef _sum(self, values):\n"
    "    return self._all(values)\n\ndef _all(self, values):\n    return sum(values)\n",
    "an indented helper": textwrap.indent(
        f"def _sum(self, values):\n    return sum(values)\n\n{METHOD.replace('sum(', 'self._sum(')}", "    "
    ),
    "a static helper": f"@staticmethod\ndef _sum(values):\n    return sum(values)\n\n\n"
    f"{METHOD.replace('sum(', 'self._sum(')}",
    "a helper of the class": "@classmethod\ndef _sum(cls, values):\n    return cls._all(values)\n\n\n"
    f"@staticmethod\ndef _all(values):\n    return sum(values)\n\n\n{METHOD.replace('sum(', 'Model._sum(')}",
    "a helper in a block of its own": fenced("def _sum(self, values):\n    return sum(values)\n")
    + fenced(METHOD.replace("sum(", "self._sum(")),
    "a helper in a class of its own": fenced("class Model:\n    def _sum(self, values):\n        return sum(values)\n")
    + fenced(f"class Model:\n{INDENTED.replace('sum(', 'self._sum(')}"),
    "a class twice": fenced(f"class Model:\n{INDENTED.replace('* total', '- total')}")
    + fenced(f"class Model:\n{INDENTED}"),
    "a sketch first": f"A sketch:\n"
    f"{fenced('class Model:' + chr(10) + '    def loss(self, values):' + chr(10) + '        ...' + chr(10))}"
    f"In full:\n{fenced(INDENTED)}",
    "a sketch with a helper": fenced(
        "class Model:\n    def loss(self, values):\n        ...\n\n    def _sum(self, values):\n        ...\n"
    )
    + fenced(
        textwrap.indent(
            f"def _sum(self, values):\n    return sum(values)\n\n{METHOD.replace('sum(', 'self._sum(')}", "    "
        )
    ),
    "a method of the repository": METHOD.replace("self.rate *", "self.doubled() // 2 *"),
    "super": f"class Model:\n{INDENTED.replace('total =', 'super().__init__()' + chr(10) + '        total =')}",
    "another name for self": METHOD.replace("self", "this"),
    "a function in it": METHOD.replace(
        "total = sum(values)", "def add(a):\n        return sum(a)\n    total = add(values)"
    ),
    "a text of many lines": METHOD.replace("total =", 'note = """a\n  b\n"""\n    total ='),
    "an indented text of many lines": INDENTED.replace(
        "total =", 'note = """a\n  b\nc\n"""\n        assert note == "a\\n  b\\nc\\n"\n        total ='
    ),
    "an indented text of many lines amid prose": "This is it:\n\n"
    + INDENTED.replace("total =", 'note = """a\n  b\nc\n"""\n        assert note == "a\\n  b\\nc\\n"\n        total =')
    + "\nThat is all there is.",
    "a call": f"{METHOD}\nmodel = Model(1)\nmodel.loss([1])\n",
    "an ellipsis in the class": f"class Model:\n    ...\n\n{INDENTED}",
    "ellipses for the other methods": f"class Model:\n    def __init__(self, rate):\n        ...\n\n{INDENTED}",
    "tabs in the class": f"class Model:\n{INDENTED}".replace("    ", "\t"),
    "prose around it": f"The method is this one:\n\n{INDENTED}\nI hope that it helps.",
    "a helper named like the method": "def loss(values):\n    return sum(values)\n\n\nclass Model:\n"
    "    def loss(self, values):\n        return self.rate * loss(values)\n",
    "an import and a method": f"import operator\n\n"
    f"{INDENTED.replace('self.rate * total', 'operator.mul(self.rate, total)')}",
    "a future import": f"from __future__ import annotations\n\n"
    f"{METHOD.replace('values)', 'values: Unknown) -> Unknown', 1)}",
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_read_however_it_is_written(name):
    module, _ = read(FUNCTIONS[name])
    assert module["score"]([1, 2, 3], 2) == 14
    assert module["scale_of"](module["Model"](3)) == 6 or "another function changed" in name
    assert module["ratio"](module["Model"](3), [1, 2]) == 6


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_read_however_it_is_written(name):
    module, _ = read(METHODS[name], "Model.loss")
    assert module["Model"](2).loss([1, 2]) == 6
    assert module["Model"](2).doubled() == 4


BROKEN = {
    "in the body": (FUNCTION.replace("in values:", "in values"), "line 3: expected ':'"),
    "in the body, in a fence": (fenced(FUNCTION.replace("in values:", "in values")), "line 4: expected ':'"),
    "in the body, amid prose": (f"Here:\n\n{FUNCTION.replace('values:', 'values')}\nDone.", "line 5: expected ':'"),
    "at the end of the body": (FUNCTION + "    if power\n        return 1\n", "line 6: expected ':'"),
    "at the end, at the margin": (FUNCTION + "if power\n", "line 6: expected ':'"),
    "at the end, in a fence": (fenced(FUNCTION + "if power\n    pass\n"), "line 7: expected ':'"),
    "a bracket": (FUNCTION.replace("return total", "return (total"), r"line 5: '\(' was never closed"),
    "a string": (FUNCTION.replace("return total", "return 'total"), "line 5: unterminated string"),
    "a text": (FUNCTION.replace("total = 0", '"""total = 0'), "line 2: unterminated triple-quoted"),
    "the head": (FUNCTION.replace("power=1):", "power=1)"), "line 1: expected ':'"),
    "a later function": (FUNCTION + "\n\ndef other(x:\n    return x\n", r"line 8: "),
    "a later class": (fenced(FUNCTION + "\n\nclass Other\n    pass\n"), "line 9: expected ':'"),
    "a later call": (FUNCTION + "\nprint(score([1, 2])\n", r"line 7: '\(' was never closed"),
    "a later assignment": (FUNCTION + "\nx = = 1\n", "line 7: invalid syntax"),
    "an earlier import": (f"import math as\n\n{FUNCTION}", "line 1: invalid syntax"),
    "a merge conflict": (
        FILE_WITH_FUNCTION.replace("def scale_of", "<<<<<<< HEAD\n=======\n>>>>>>> x\ndef scale_of"),
        r"line \d+: a conflict marker \(<<<<<<<\)",
    ),
    "the last of two": (
        fenced(FUNCTION) + fenced(FUNCTION.replace("in values:", "in values")),
        "line 11: expected ':'",
    ),
    "what it needs": (fenced(HELPER.replace("):", ")")) + fenced(CALLER), "line 2: expected ':'"),
    "a statement torn off by prose": (
        f"Here:\n{FUNCTION.replace('    return', 'That was all there is to it.' + chr(10) + '    return')}",
        "line 7: ",
    ),
    "statements torn off by prose": (
        "Here:\n" + FUNCTION.replace("    total = 0", "    a = 0\nIt begins with zero.\n    total = 0"),
        "line 5: ",
    ),
    "a method": (INDENTED.replace("sum(values)", "sum(values"), r"line 2: '\(' was never closed"),
    "an old print": (
        FUNCTION.replace("return total", 'print "total"\n    return total'),
        "line 5: Missing parentheses",
    ),
    "a truncated answer": (f"```python\n{FUNCTION[:-20]}(", "line 5: "),
}


@pytest.mark.parametrize("name", BROKEN)
def test_code_that_is_broken_is_refused_with_its_line_and_never_cut(name):
    text, words = BROKEN[name]
    with pytest.raises(SubmissionError, match=f"the candidate can't be parsed: {words}"):
        read(text, "Model.loss" if name == "a method" else "score")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (FUNCTION.replace("def score(", "def score[T]("), r"line 1: .* \(Python 3\."),
        (f"type Total = int\n\n{FUNCTION}", r"line 1: .* \(Python 3\."),
        (FUNCTION.replace("return total", 'return f"{total["a"]}"'), r"line 5: .* \(Python 3\."),
    ],
)
def test_syntax_of_a_later_python_is_refused_with_the_version_that_is_used(code, words):
    try:
        compile(code, "answer.py", "exec")
    except SyntaxError:
        for text in (code, fenced(code)):
            said = refusal(text)
            assert "the candidate can't be parsed: line " in said
            assert "(Python 3." in said
    else:
        read(code)


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("def _score(values, power=1):\n    return 14\n\n\nscore = _score\n", 5),
        ("score = lambda values, power=1: 14\n", 1),
        ("def make():\n    def score(values):\n        return 14\n    return score\n\n\nscore = make()\n", 7),
        ("import functools\n\nscore: object = functools.cache(sum)\n", 3),
        ("from scores import score\n", 1),
    ],
)
def test_a_target_that_is_assigned_is_refused_with_what_to_write(code, line):
    assert f"score is assigned on line {line}, not defined by def; write `def score(" in refusal(code)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I'm sorry, but I can't help with that.", "no code in the answer: 'I'm sorry, but I can't help with that.'"),
        ("No.", "no code in the answer: 'No.'"),
        ("", "the answer is empty"),
        (" \n\n", "the answer is empty"),
        ("As an AI model I can't. " * 50, "no code in the answer: 'As an AI model I can't. As an AI"),
        (f"<think>\n{fenced(FUNCTION)}", "no answer after the reasoning"),
        (f"{fenced(FUNCTION)}</think>", "no answer after the reasoning"),
        (f"<think>\n{fenced(FUNCTION)}</think>\nI give up.", "no code in the answer: 'I give up.'"),
        (fenced("pip install torch\n", "bash"), "no code in the answer: '```bash pip install torch ```'"),
        (fenced("def other():\n    return 1\n"), "the candidate does not define score"),
    ],
)
def test_an_answer_without_code_is_quoted(text, words):
    said = refusal(text)
    assert said.startswith(words)
    assert len(said) < 150


def test_lines_of_prose_are_named_and_lines_of_warnings_are_those_of_the_answer():
    _, warnings = read(f"Sure, here is the function.\n\n{FUNCTION}\nIt adds up the powers.\nThat is all.\n")
    assert warnings == ("line 1: prose, not code; left out", "lines 9 to 10: prose, not code; left out")
    _, warnings = read(f"Sure.\n\n{fenced('UNUSED = 1' + chr(10))}\n{fenced(FUNCTION)}")
    assert warnings == ("line 4: `UNUSED` is new, but no target needs it; left out",)


def test_blocks_that_are_left_out_are_named():
    _, warnings = read(fenced(FUNCTION) + "prints\n" + fenced("14\n", ""))
    assert warnings == ("line 10: no target needs this; left out",)
    _, warnings = read(fenced("x = = 1\n") + fenced(FUNCTION))
    assert warnings == ("line 2: broken code (line 2: invalid syntax); left out",)


def test_a_fence_with_an_info_string_does_not_close_a_block():
    output = "An older version:\n```not the end\ndef raised(value, power):\n    return 0\n"
    text = from_response(fenced(CALLER) + fenced(output, "text"), ["score"], names_of(MASK)).text
    assert "def score" in text
    assert "def raised" not in text


def test_a_fence_inside_a_docstring_does_not_close_a_block():
    text = fenced(FUNCTION.replace("    total = 0", '    """Doc.\n\n```text\nscore\n```\n    """\n    total = 1 - 1'))
    module, warnings = read(text)
    assert module["score"]([1, 2, 3], 2) == 14
    assert "```text\nscore\n```" in module["score"].__doc__
    assert warnings == ()


def test_strings_keep_their_unusual_characters():
    text = FUNCTION.replace("total = 0", 'total = len("a\u00a0\u200bb") - 4')
    module, _ = read("\u200b" + text.replace("return total", "return\u00a0total"))
    assert module["score"]([1, 2, 3], 2) == 14


def test_a_helper_that_is_named_like_something_else_is_the_answers_own_and_said():
    code = f"def ratio(value, power):\n    return value**power\n\n\n{CALLER.replace('raised', 'ratio')}"
    module, warnings = read(code)
    assert module["score"]([1, 2, 3], 2) == 14
    assert module["ratio"](module["Model"](3), [1, 2]) == 6
    assert warnings == ("line 1: `ratio` differs from the repository's; the answer uses its own, as `ratio_of_answer`",)
    local = code.replace(
        "return sum(ratio(value, power) for", "copy = [ratio]\n    return sum(copy[0](value, power) for"
    )
    assert read(local)[0]["score"]([1, 2, 3], 2) == 14


@pytest.mark.parametrize(
    "helper",
    [
        "def ratio(model, batch):\n    '''The same.'''\n    return model.rate * len(batch)\n",
        "def ratio(model, batch):\n    ...\n",
        "def ratio(model: 'Model', batch: list) -> float:\n    return model.rate * len(batch)\n",
    ],
)
def test_what_a_fragment_repeats_of_the_repository_is_the_repositorys(helper):
    code = f"{helper}\n\ndef score(values, power=1):\n    return ratio(Model(14), [0])\n"
    module, warnings = read(code)
    assert module["score"]([1]) == 14
    assert "ratio_of_answer" not in module
    assert warnings[0] == "line 1: `ratio` differs from the repository's, which is kept"


def test_a_whole_file_can_not_change_what_the_repository_has():
    text = FILE_WITH_FUNCTION.replace("model.rate * len(batch)", "99").replace("total = 0", "total = 0 * ratio(1, 2)")
    with pytest.raises(AttributeError):
        read(text)[0]["score"]([1])


def test_a_future_import_leaves_the_annotations_of_the_repository_and_keeps_those_of_the_answer():
    code = (
        "from __future__ import annotations\nfrom dataclasses import dataclass, field\nfrom typing import ClassVar\n"
        "\n\n"
        "@dataclass\nclass Sum:\n    total: Unknown = 0\n    parts: list[\n        Unknown\n"
        "    ] = field(default_factory=list)\n"
        "    known: ClassVar[int] = 3\n\n\n"
        "def score(values: Unknown, *more: Unknown, power: int = 1) -> Sum | Unknown:\n    seen: Unknown = 1\n"
        "    return Sum(14, [Sum.known])\n"
    )
    module, warnings = read(code)
    result = module["score"]([1])
    assert (result.total, result.parts) == (14, [3])
    assert module["score"].__annotations__["values"] == "Unknown"
    assert module["Config"].__annotations__ == {"power": int}
    assert warnings == ()
