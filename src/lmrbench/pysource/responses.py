"""Which Python text in a model's response defines the targets?

A response may be the bare code, or hold it in Markdown fences or amid prose, with its indentation changed, and a method
without its class. Each try parses a text that is no longer than the response, and there are few kinds of tries, so that
the time is a constant times the length, whatever the response holds.
"""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Iterator, Sequence

from lmrbench.pysource.functions import definitions_named
from lmrbench.pysource.source import FunctionNode, Source, lines_of, splice, syntax_tree

# Of code that is looked for amid prose, where each line may be the last one of the code.
MOST_CUTS = 200

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_OPENING = re.compile(r"^[ \t]*(?:@|async def |def |class |import |from \S+ import )", re.MULTILINE)


def from_response(text: str, targets: Sequence[str]) -> str:
    """The Python text of a response that defines all targets, which are qualified names; a file comes back as it is.

    Looked for in this order: the text itself, its fenced blocks (all together, then each alone, the last first), and
    the text from its first line of code on; each also with its indentation mended and, for a method printed bare,
    inside its class. One that defines a target twice will not do. If none will do, the likeliest comes back for
    `transplant` to say what is wrong with it.
    """
    text = text.removeprefix("\ufeff")
    plain = "\n".join(lines_of(text))
    blocks = _fenced_blocks(plain)
    names = {target.rpartition(".")[2] for target in targets}
    tried: set[str] = set()
    for attempt in _attempts(text, plain, blocks, names):
        for shaped in _shapes(attempt):
            if shaped not in tried and (usable := _usable(shaped, targets)) is not None:
                return usable
            tried.add(shaped)
    likely = [block for block in blocks if any(name in block for name in names)]
    return textwrap.dedent(likely[-1] if likely else plain)


def _attempts(text: str, plain: str, blocks: Sequence[str], names: set[str]) -> Iterator[str]:
    yield text
    yield "\n".join(map(textwrap.dedent, blocks))
    yield from (block for block in reversed(blocks) if all(name in block for name in names))
    yield from _from_first_code(plain)


def _fenced_blocks(text: str) -> list[str]:
    """What stands between Markdown's fences; one that is not closed reaches to the end."""
    blocks: list[list[str]] = []
    mark = ""
    for line in text.split("\n"):
        content = line.strip(" \t")
        if mark and content.startswith(mark) and not content.strip(mark[0]):
            mark = ""
        elif mark:
            blocks[-1].append(line + "\n")
        elif fence := _FENCE.match(line):
            mark = fence[1]
            blocks.append([])
    return ["".join(block) for block in blocks]


def _from_first_code(text: str) -> Iterator[str]:
    """The longest run of lines that is Python, from the first line on that begins one."""
    cuts = MOST_CUTS
    for match in _OPENING.finditer(text):
        lines = _indented_alike(text[match.start() :])
        end = len(lines)
        while end > 0:
            attempt = "\n".join(lines[:end])
            try:
                syntax_tree(attempt)
            except SyntaxError as error:
                # No run that holds the line at fault is Python.
                end = min(end, error.lineno or end) - 1
            else:
                yield attempt
                return
            cuts -= 1
            if not cuts:
                return


def _indented_alike(text: str) -> list[str]:
    """The lines down to the first that is less indented than the first of all, without that indentation."""
    first, *others = text.split("\n")
    margin = first[: len(first) - len(first.lstrip(" \t"))]
    inside = itertools.takewhile(lambda line: line.startswith(margin) or not line.strip(), others)
    return textwrap.dedent("\n".join([first, *inside])).split("\n")


def _shapes(text: str) -> Iterator[str]:
    yield text
    yield textwrap.dedent(text)
    stripped = text.strip("\n")
    if stripped and not stripped[0].isspace():
        # The first line was stripped, the rest kept the indentation that it had in its class.
        yield textwrap.dedent(f"    {stripped}")


def _usable(text: str, targets: Sequence[str]) -> str | None:
    try:
        tree = syntax_tree(text)
        if all(len(definitions_named(tree, target)) == 1 for target in targets):
            return text
        classes = {target.rpartition(".")[0] for target in targets}
        bare = {target.rpartition(".")[2] for target in targets}
        if classes == {""} or len(classes) != 1 or any(len(definitions_named(tree, name)) != 1 for name in bare):
            return None
        return _inside_class(Source.parse(text), classes.pop(), bare)
    except SyntaxError:
        return None


def _inside_class(source: Source, owner: str, names: set[str]) -> str:
    """The text with the functions of these names moved to its end, into the class that they belong to.

    Raises SyntaxError where they are no functions of the module itself.
    """
    functions = [node for node in source.tree.body if isinstance(node, FunctionNode) and node.name in names]
    extents = [source.extent(node) for node in functions]
    classes = owner.split(".")
    heads = ["    " * depth + f"class {name}:" for depth, name in enumerate(classes)]
    moved = [source.moved(start, end, "    " * len(classes), "\n") for start, end in extents]
    kept = splice(source.text, [(start, end, "") for start, end in extents]).rstrip()
    result = "\n".join([kept, "", "", *heads, *moved, ""])
    syntax_tree(result)
    return result
