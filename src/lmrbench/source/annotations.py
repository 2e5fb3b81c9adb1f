"""Apply `from __future__ import annotations` to single functions by quoting their annotations.

The functions of a submission that has this import may be copied into a file that lacks it. Adding the import there
would affect every function of the file. Turning the annotations of the copied functions into strings has the same
effect on these functions alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from lmrbench.source.scopes import is_future
from lmrbench.source.syntax import FunctionNode, ParsedSource, TextEdit, lines_of, splice


def with_quoted_annotations(mask: ParsedSource, candidate: ParsedSource) -> ParsedSource:
    """Quote the annotations of a candidate if only the candidate has `from __future__ import annotations`.

    The number of lines does not change.

    Args:
        mask: The file into which functions are copied.
        candidate: The submitted file, from which they are copied.

    Returns:
        The candidate with quoted annotations, or the unchanged candidate.

    Raises:
        SyntaxError: Python cannot parse the result.
    """
    if not _has_import(candidate) or _has_import(mask):
        return candidate
    edits = [_quoted(candidate, annotation) for annotation in _annotations(candidate.tree)]
    return ParsedSource.parse(splice(candidate.text, edits))


def _has_import(source: ParsedSource) -> bool:
    futures = (node for node in source.tree.body if isinstance(node, ast.ImportFrom) and is_future(node))
    return any(alias.name == "annotations" for node in futures for alias in node.names)


def _annotations(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        found = node.returns if isinstance(node, FunctionNode) else getattr(node, "annotation", None)
        match found:
            # Strings are quoted already, and `*Ts` in `*args: *Ts` cannot be quoted.
            case None | ast.Constant(value=str()) | ast.Starred():
                pass
            case ast.expr():
                yield found


def _quoted(source: ParsedSource, annotation: ast.expr) -> TextEdit:
    start, end = source.begin(annotation), source.finish(annotation)
    first, *others = lines_of(source.text[start:end])
    literal = repr(" ".join([first, *others]))
    return start, end, f"({literal}{chr(10) * len(others)})" if others else literal
