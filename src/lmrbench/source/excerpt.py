"""Extract a submission from the file that it was transplanted into.

`excerpt` compares that file with the masked file, in which the bodies of the targets are missing, and returns the
targets and everything else that the transplant added. `bare` removes everything that has no effect on the program:
comments, docstrings and other constants used as statements.
"""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Iterator, Sequence

from lmrbench.source.functions import functions_named
from lmrbench.source.scopes import TargetPair, module_and_classes
from lmrbench.source.syntax import ParsedSource, TextEdit, splice

_INDENT = "    "


def excerpt(masked: str, answered: str, qualnames: Sequence[str]) -> str:
    """Return the targets of a file after a transplant, with the statements that the transplant added.

    Code from inside a class is returned below the header of the class.

    Args:
        masked: The file without the bodies of the targets.
        answered: The file after the transplant.
        qualnames: The qualified names of the targets.

    Raises:
        SyntaxError: Python cannot parse one of the files.
    """
    mask, new = ParsedSource.parse(masked), ParsedSource.parse(answered)
    pairs = [
        TargetPair(functions_named(mask, name)[-1], functions_named(new, name)[-1]) for name in dict.fromkeys(qualnames)
    ]
    parts = []
    for scope in module_and_classes(mask, new, pairs):
        added = [entry.origin for entry in scope.candidate.entries if entry.key not in scope.mask.keys]
        places = {new.extent(statement) for statement in added}
        places |= {(pair.candidate.start, pair.candidate.end) for pair in pairs if _classes_around(pair) == scope.path}
        headers = [f"{_INDENT * depth}class {name}:\n" for depth, name in enumerate(scope.path)]
        margin = _INDENT * len(scope.path)
        if places:
            text = "\n\n".join(new.moved(start, end, margin, "\n") for start, end in sorted(places))
            parts.append("".join(headers) + text)
    return "\n\n\n".join(parts) + "\n"


def bare(text: str) -> str:
    """Remove comments, docstrings and other constants used as statements, which have no effect on a program.

    Raises:
        SyntaxError: Python cannot parse the text.
    """
    source = ParsedSource.parse(text)
    comments = ((source.place(token), len(token.string)) for token in source.tokens if token.type == tokenize.COMMENT)
    removed = [(start, start + length, "") for start, length in comments]
    return splice(source.text, [_whole_line(source, edit) for edit in (*removed, *_idle(source))])


def _classes_around(pair: TargetPair) -> tuple[str, ...]:
    names = []
    for parent in pair.candidate.parents:
        if not isinstance(parent, ast.ClassDef):
            break
        names.append(parent.name)
    return tuple(names)


def _idle(source: ParsedSource) -> Iterator[TextEdit]:
    """Yield an edit for each constant used as a statement: remove it, or write `pass` if the block would be empty."""
    for node in ast.walk(source.tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if not isinstance(block, list):
                continue
            idle = [statement for statement in block if _is_idle(statement)]
            needed = len(idle) == len(block) and not isinstance(node, ast.Module)
            for number, statement in enumerate(idle):
                yield source.begin(statement), source.finish(statement), "pass" if needed and not number else ""


def _is_idle(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.JoinedStr(values=parts)):
            return all(isinstance(part, ast.Constant) for part in parts)
    return False


def _whole_line(source: ParsedSource, edit: TextEdit) -> TextEdit:
    """Return an edit that removes whole lines, if they contain nothing else.

    A comment after code is removed with the space before it. A constant is replaced by `pass` if other code is on the
    same line, or if the given edit already does so.
    """
    start, end, replacement = edit
    before = source.text[source.line_start(start) : start]
    after = source.text[end : source.line_end(source.line(end))]
    if source.text[start] == "#":
        if before.strip():
            return source.line_start(start) + len(before.rstrip()), end, ""
    elif replacement or before.strip() or after.strip():
        return start, end, "pass"
    return source.line_start(start), source.starts[source.line(end)], ""
