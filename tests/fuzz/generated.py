"""What a hostile or careless solver could hand in, as Hypothesis strategies."""

from hypothesis import strategies as st
from tests.core import TASKS

TASK = TASKS["dpo/preference_loss"]
(GOAL,) = TASK.goal_files
GOLDEN = TASK.files.repository[GOAL].decode()
FUNCTION = "def preference_loss(a, b, c, d, beta, label_smoothing=0.0, ipo=False, reference_free=False):\n"

# Text that grows with n; each was, or might have been, more than its size is worth to somebody who reads it.
GROWING = {
    "nested comprehensions": lambda n: "x = " + "[a for a in " * min(n, 80) + "b" + "]" * min(n, 80) + "\n",
    "decorators": lambda n: "@torch.no_grad()\n" * n + FUNCTION + "    pass\n",
    "backticks": lambda n: "`" * (100 * n),
    "fences": lambda n: "```\n" * n,
    "functions of the target's name": lambda n: (FUNCTION + "    pass\n") * n,
    "elif": lambda n: FUNCTION + "    if a:\n        pass\n" + "    elif b:\n        pass\n" * n,
    "a hexadecimal literal": lambda n: f"x = 0x{'f' * (4 * n)}\n",
    "a decimal literal": lambda n: f"x = {'9' * (4 * n)}\n",
    "a dotted import": lambda n: f"import {'.'.join('a' * (10 * n))} as x\n",
    "dots": lambda n: FUNCTION + f"    return a{'.b' * n}\n",
    "sums": lambda n: f"x = {'1 + ' * n}1\n",
    "brackets": lambda n: f"x = {'(' * n}1{')' * n}\n",
    "signs": lambda n: f"x = {'-' * n}1\n",
    "lambdas": lambda n: f"x = {'lambda: ' * n}1\n",
    "classes": lambda n: (
        "".join(f"{' ' * depth}class A:\n" for depth in range(min(n, 99))) + " " * min(n, 99) + "x = 1\n"
    ),
    "strings": lambda n: "x = (" + "'a' " * n + ")\n",
    "formatted strings": lambda n: "x = " + "f'{" * min(n, 4) + "1" + "}'" * min(n, 4) + "\n",
    "walrus": lambda n: "x = [" + "(y := 1), " * n + "]\n",
    "continued lines": lambda n: "x = 1 + \\\n" * n + "1\n",
    "blank lines": lambda n: "\n" * (100 * n),
    "form feeds": lambda n: "\f" * n + "x = 1\n",
    "globals": lambda n: FUNCTION + "    global " + ", ".join(f"g{i}" for i in range(n + 1)) + "\n    return 1\n",
    "helpers": lambda n: "".join(f"def h{i}(): return h{i + 1}()\n" for i in range(n)) + FUNCTION + "    return h0()\n",
    "match": lambda n: FUNCTION + "    match a:\n" + "        case 1: pass\n" * n,
    "semicolons": lambda n: "x = 1;" * n + "\n",
}
COOKIES = (
    "",
    "# coding: punycode\n",
    "# coding: raw_unicode_escape\n",
    "# coding: utf-7\n",
    "# coding: idna\n",
    "\ufeff",
)
SNIPPETS = (
    "\x00", "\x0c", "\u2028", "\ud800", "\r", "\t", "'''", '"""', "\\", "async ", "await x\n", "yield\n",
    "# type: ignore\n", "nonlocal x\n", "@overload\n", "@property\n", "del x\n", "import *\n", "from a import *\n",
    "print('lmrbench: dpo passed')\n", "\x1b[2J", "[/]", "if 0:\n", "try:\n", "else:\n", "    ", "lambda",
)  # fmt: skip

sizes = st.integers(min_value=0, max_value=1500)
growing = st.builds(lambda name, n: GROWING[name](n), st.sampled_from(sorted(GROWING)), sizes)


@st.composite
def edited(draw, text=GOLDEN):
    """A text with some lines left out, doubled, moved, or with something put between."""
    lines = text.splitlines(keepends=True)
    for _ in range(draw(st.integers(0, 8))):
        place = draw(st.integers(0, max(0, len(lines) - 1)))
        change = draw(st.sampled_from(("drop", "double", "move", "insert", "indent", "cut", "join")))
        line = lines[place] if lines else ""
        if change == "drop":
            del lines[place : place + 1]
        elif change == "double":
            lines.insert(place, line)
        elif change == "move":
            del lines[place : place + 1]
            lines.insert(draw(st.integers(0, len(lines))), line)
        elif change == "insert":
            lines.insert(place, draw(st.sampled_from(SNIPPETS)))
        elif change == "indent":
            lines[place : place + 1] = [draw(st.sampled_from((" ", "    ", "\t"))) + line]
        elif change == "cut":
            lines[place : place + 1] = [line[: draw(st.integers(0, max(0, len(line))))]]
        else:
            lines[place : place + 1] = [line.rstrip("\n")]
    return "".join(lines)


code = st.one_of(
    edited(),
    growing,
    st.builds("".join, st.tuples(st.sampled_from(COOKIES), growing, edited())),
    st.text(max_size=300),
    st.builds("```python\n{}\n```\n{}".format, edited(), growing),
)


@st.composite
def diffs(draw):
    """A unified diff of the goal file, more or less."""
    number = st.sampled_from(("0", "1", "7", "99999", "9" * 5000, "-1", "x"))
    hunks = []
    for _ in range(draw(st.integers(0, 5))):
        head = f"@@ -{draw(number)},{draw(number)} +{draw(number)},{draw(number)} @@\n"
        body = draw(
            st.lists(st.sampled_from((" import copy\n", "-x\n", "+y\n", " \n", "\\ No newline\n", "+\x0c\n", "\r\n")))
        )
        hunks.append(head + "".join(body))
    name = draw(st.sampled_from((GOAL, f"repo/{GOAL}", "../../etc/passwd", "a\x1b[2Jb", "/dev/null", "\u2028", "")))
    text = f"--- a/{name}\n+++ b/{name}\n" + "".join(hunks)
    return draw(st.sampled_from(("", "diff --git a/x b/x\n"))) + text + draw(st.one_of(st.just(""), growing))


leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.binary(max_size=8))
observations = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(st.text(max_size=4), st.integers(0, 9)), inner, max_size=4),
    ),
    max_leaves=12,
)
