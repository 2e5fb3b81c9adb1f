"""Report the edits in a candidate (a submitted file) that were not copied into the repository.

`transplant` copies only the targets (the functions that a task asks for) and the code that they need. It copies them
into the masked file, which is the repository's file without the bodies of the targets. A scope is the body of the
module, or of a class that contains a target. If the candidate's scope repeats no definition of the masked file except
targets, it is treated as a fragment, and the definitions that it lacks are not reported.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from lmrbench.source.scopes import Scope, ScopeEntry, TargetPair, spelling
from lmrbench.source.syntax import DefinitionNode, FunctionNode, ParsedSource
from lmrbench.text import printable

MAX_LINES = 20
_MAX_NAMES = 8
_MAX_CODE = 60


def differences(
    new: ParsedSource,
    scopes: Sequence[Scope],
    pairs: Sequence[TargetPair],
    wanted: Mapping[Scope, set[str]],
    taken: Mapping[Scope, Collection[ScopeEntry]],
) -> tuple[str, ...]:
    """Describe each edit of the candidate that was not transplanted.

    Args:
        new: The candidate's file.
        scopes: The scopes that are in both the masked file and the candidate.
        pairs: The targets, each with its definition in both files.
        wanted: The names that the transplanted code needs, by scope.
        taken: The statements that were transplanted, by scope.

    Returns:
        One line for each edit, ordered by scope. The definitions that a scope lacks share one line.
    """
    lines: list[str] = []
    for scope in scopes:
        lines += _left_out(new, scope, wanted[scope], taken[scope])
        lines += _changed_holders(scope, pairs)
        if not _is_fragment(scope):
            lines += [*_changed_class(scope, pairs), *_missing(scope)]
    return tuple(lines)


def shortened(lines: Sequence[str], most: int) -> tuple[str, ...]:
    """Return the first `most` lines; if there are more, append a line with the number of lines left out."""
    rest = len(lines) - most
    return (*lines[:most], f"and {rest} more") if rest > 0 else tuple(lines)


def _left_out(new: ParsedSource, scope: Scope, wanted: set[str], taken: Collection[ScopeEntry]) -> Iterator[str]:
    for entry in scope.candidate.entries:
        if entry.key in scope.mask.keys or entry in taken:
            continue
        where = f"line {entry.origin.lineno}"
        theirs, fresh = entry.binds & scope.mask.binds, entry.binds - scope.mask.binds
        if not entry.binds:
            yield f"{where}: `{_code(new, entry.origin)}` is outside the targets; left out"
        elif theirs and fresh & wanted:
            names = _names(scope, fresh & wanted)
            yield f"{where}: {names} is needed, but its statement also defines {_names(scope, theirs)}; left out"
        elif theirs:
            yield f"{where}: {_names(scope, theirs)} differs from the repository's, which is kept"
        else:
            yield f"{where}: {_names(scope, fresh)} is new, but no target needs it; left out"


def _is_fragment(scope: Scope) -> bool:
    return not any(entry.binds & scope.mask.binds and not entry.is_import for entry in scope.candidate.entries)


def _missing(scope: Scope) -> Iterator[str]:
    missing: dict[str, None] = {}
    for entry in scope.mask.entries:
        if not entry.binds and entry.key not in scope.candidate.keys:
            missing[f"the statement on line {entry.origin.lineno}"] = None
        missing.update(dict.fromkeys(f"`{scope.label(name)}`" for name in sorted(entry.binds - scope.candidate.binds)))
    if missing:
        yield f"missing, so kept as in the repository: {', '.join(shortened([*missing], _MAX_NAMES))}"


def _changed_class(scope: Scope, pairs: Iterable[TargetPair]) -> Iterator[str]:
    depth = len(scope.path)
    heads = set()
    for pair in pairs:
        parents = pair.mask.parents[:depth], pair.candidate.parents[:depth]
        if parents[1] and tuple(parent.name for parent in parents[0]) == scope.path:
            heads.add(tuple(_head(around[-1]) for around in parents))
    if any(ours != theirs for ours, theirs in heads):
        yield f"`{'.'.join(scope.path)}` has different bases or decorators; the repository's are kept"


def _head(node: DefinitionNode) -> str:
    bases = [*node.bases, *node.keywords] if isinstance(node, ast.ClassDef) else []
    return " ".join(spelling(part) for part in [*node.decorator_list, *bases])


def _changed_holders(scope: Scope, pairs: Sequence[TargetPair]) -> Iterator[str]:
    """Report branches and functions around a target that differ from those in the masked file."""
    ours = {_around(holder, [pair.mask.node for pair in pairs]) for holder in scope.mask.holders}
    targets = [pair.candidate.node for pair in pairs]
    branches = [node for node in scope.candidate.holders if node not in targets and not isinstance(node, ast.ClassDef)]
    for holder in branches:
        if _around(holder, targets) not in ours:
            yield f"line {holder.lineno}: the code around the target differs from the repository's, which is kept"


def _around(holder: ast.stmt, targets: Iterable[FunctionNode]) -> str:
    text = spelling(holder)
    for target in targets:
        text = text.replace(spelling(target), "")
    return text


def _names(scope: Scope, names: Iterable[str]) -> str:
    return ", ".join(shortened([f"`{scope.label(name)}`" for name in sorted(names)], _MAX_NAMES))


def _code(source: ParsedSource, statement: ast.stmt) -> str:
    begin = source.begin(statement)
    code = source.text[begin : source.line_end(source.line(begin))].strip()
    return printable(code if len(code) <= _MAX_CODE else code[:_MAX_CODE] + "…")
