"""Where fenced blocks begin and end."""

import pytest

from lmrbench.source.markdown import fenced_blocks


def blocks(text):
    """The language and the content of each block."""
    return [(block.language, "\n".join(block.lines)) for _, block in fenced_blocks(text.split("\n"))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```python\nx = 1\n```", [("python", "x = 1")]),
        ("~~~\nx = 1\n~~~\n", [("", "x = 1")]),
        ("````\n```\n````", [("", "```")]),
        ("```python\nx = 1", [("python", "x = 1")]),
        ("```bash\nls\n```\nthen\n``` py\nx = 1\n```", [("bash", "ls"), ("py", "x = 1")]),
        # A fence with anything behind it ends no block, unless it opens the next one.
        ("```python\nx = '''\n```text\n'''\n```", [("python", "x = '''\n```text\n'''")]),
        ("```python\nx = 1\n```text\n14\n```", [("python", "x = 1"), ("text", "14")]),
        ("```text\none\n```python\nx = 1\n```", [("text", "one"), ("python", "x = 1")]),
        ("```text\none\n```two three\nfour\n```", [("text", "one\n```two three\nfour")]),
        # Code goes on where it is not complete, and ends where it is.
        ("```python\nx = '''\n```\n'''\n```", [("python", "x = '''\n```\n'''")]),
        ("```python\nx = 1```\nDone.", [("python", "x = 1")]),
        ("```python\nx = (\n```\nDone.\n```python\ny = 1\n```", [("python", "x = ("), ("python", "y = 1")]),
        ("> ```python\n> x = 1\n> ```\nDone.", [("python", "x = 1")]),
        ("- ```python\n  x = 1\n  ```", [("python", "  x = 1")]),
        ("Here: ```python\nx = 1\n```", [("python", "x = 1")]),
        ("```python import math\nx = 1\n```", [("python", "import math\nx = 1")]),
        ("```markdown\n```python\nx = 1\n```\n```", [("python", "x = 1"), ("", "")]),
        ("`x` and ``y``", []),
    ],
)
def test_a_block_has_its_language_and_its_content(text, expected):
    assert blocks(text) == expected
