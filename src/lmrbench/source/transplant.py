"""Transplant the targets of a candidate's file, and the code that they need, into the masked file.

The targets are the functions that a task asks for. The masked file is the repository's file without the bodies of the
targets, and the candidate's file is the submitted code. The transplant copies:

- the text of each target in the candidate's file;
- module-level statements and imported names that the copied code needs and the masked file does not define;
- members of a target's class that the copied code uses and the class in the masked file lacks;
- statements that modify a copied name (`TABLE[0] = 1`, `TABLE.append(1)`).

Statements are copied whole, such as `try: import x` with its `except`. Imports are copied name by name.

Invariants:

- No name that the masked file binds is bound again.
- The rest of the masked file is unchanged, byte for byte.
- Other edits of the candidate have no effect, and a warning names each of them.
- Transplanting the same candidate into the result, or the result into the masked file, gives the same result.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from lmrbench.errors import SubmissionError, TaskError
from lmrbench.source.annotations import with_quoted_annotations
from lmrbench.source.differences import MAX_LINES, differences, shortened
from lmrbench.source.functions import (
    Definition,
    Function,
    definitions_named,
    functions_named,
    is_stub,
    measured,
    near_misses,
)
from lmrbench.source.names import attributes, bound, used
from lmrbench.source.ownership import own_names
from lmrbench.source.responses import unparsable
from lmrbench.source.scopes import Scope, ScopeEntry, TargetPair, is_docstring, module_and_classes
from lmrbench.source.syntax import (
    DefinitionNode,
    FunctionNode,
    ParsedSource,
    TextEdit,
    decode,
    describe,
    splice,
    syntax_tree,
)

_ALWAYS_THERE = frozenset(dir(builtins)) | {"__file__", "__name__", "__class__", "__spec__", "__path__"}


@dataclass(frozen=True)
class Transplant:
    """The result of a transplant.

    Attributes:
        data: The content of the new file.
        warnings: One line for each part of the candidate's file that was left out.
    """

    data: bytes
    warnings: tuple[str, ...]


def transplant(
    masked: bytes, candidate: str | bytes, targets: Sequence[str], elsewhere: Collection[str] = ()
) -> Transplant:
    """Put the candidate's targets, and the code that they need, into the masked file.

    Args:
        masked: The content of the masked file.
        candidate: The content of the candidate's file, as text or as bytes.
        targets: The qualified names of the targets.
        elsewhere: The names of targets in other files, and of classes and functions that contain such targets. Unlike
            helpers, they are never renamed.

    Raises:
        SubmissionError: The candidate cannot be parsed, lacks a target, defines one in several places, or contains a
            character that the encoding of the masked file lacks.
        TaskError: The masked file cannot be parsed, or lacks a target.
    """
    try:
        text, encoding = decode(masked)
        mask = ParsedSource.parse(text)
    except SyntaxError as error:
        raise TaskError(f"the masked file can't be parsed: {describe(error)}") from error
    try:
        new = ParsedSource.parse(candidate if isinstance(candidate, str) else decode(candidate)[0])
        new = with_quoted_annotations(mask, new)
    except SyntaxError as error:
        raise SubmissionError(unparsable(error)) from error
    try:
        pairs, scopes, needs = _compared(mask, new, targets)
        own = own_names(new, scopes, pairs, elsewhere)
        if own.names:
            new = ParsedSource.parse(own.text)
            pairs, scopes, needs = _compared(mask, new, targets)
        warnings = (*own.warnings, *differences(new, scopes, pairs, needs.wanted, needs.taken))
        result = splice(mask.text, [*_insertions(mask, new, scopes, needs.taken), *_replacements(mask, new, pairs)])
        data = result.encode(encoding)
    except RecursionError as error:
        raise SubmissionError("the candidate's code is nested too deeply") from error
    except UnicodeEncodeError as error:
        wrong = error.object[error.start]
        line = new.line(new.text.find(wrong))
        raise SubmissionError(f"line {line}: {wrong!r} can't be encoded in {encoding}, the file's encoding") from error
    return Transplant(data, shortened(warnings, MAX_LINES))


def names_of(masked: bytes) -> frozenset[str]:
    """Return the names that a masked file binds, or an empty set if the file cannot be parsed."""
    try:
        return frozenset(bound(*syntax_tree(decode(masked)[0]).body))
    except SyntaxError:
        return frozenset()


def _compared(
    mask: ParsedSource, new: ParsedSource, targets: Sequence[str]
) -> tuple[list[TargetPair], tuple[Scope, ...], _Needs]:
    """Return the targets and scopes that are in both files, and the names and entries that the targets need."""
    pairs = [_pair(mask, new, target) for target in dict.fromkeys(targets)]
    scopes = module_and_classes(mask, new, pairs)
    return pairs, scopes, _needs(scopes, pairs)


def _pair(mask: ParsedSource, new: ParsedSource, qualname: str) -> TargetPair:
    ours = functions_named(mask, qualname)
    if len(ours) != 1:
        raise TaskError(f"the masked file has {len(ours)} definitions of {qualname} instead of one")
    theirs = _candidates(mask, ours[0], new)
    if not theirs:
        if line := _assigned(new, qualname):
            wanted = f"`def {ours[0].node.name}(...)`"
            raise SubmissionError(f"{qualname} is assigned on line {line}, not defined by def; write {wanted}")
        near = near_misses(new, qualname)
        hint = f"; similar: {', '.join(near)}" if near else ""
        raise SubmissionError(f"the candidate does not define {qualname}{hint}")
    # Of several definitions in sequence, the last one that is not a stub counts.
    chosen = next((entry for entry in reversed(theirs) if not is_stub(entry[0])), theirs[-1])
    if any(_is_alternative(new, entry, chosen) for entry in theirs):
        lines = ", ".join(str(node.lineno) for node, _, _ in theirs)
        raise SubmissionError(f"the candidate defines {qualname} in several places (lines {lines})")
    return TargetPair(ours[0], measured(new, qualname, *chosen))


def _candidates(mask: ParsedSource, target: Function, new: ParsedSource) -> list[Definition]:
    """Return the candidate's definitions of a target in source order, including methods outside their class."""
    found = definitions_named(new.tree, target.qualname)
    name = target.node.name
    if not target.parents or not all(isinstance(parent, ast.ClassDef) for parent in target.parents):
        return found
    if any(name in bound(node) for node in mask.tree.body):
        return found
    bare = [entry for entry in definitions_named(new.tree, name) if entry[2] is new.tree.body]
    if any(not is_stub(node) for node, _, _ in found):
        # A module-level function may be a helper that only shares the method's name. It counts as the method if its
        # first parameter is the method's `self` or `cls`.
        first = _first_parameter(target.node)
        bare = [entry for entry in bare if first in ("self", "cls") and _first_parameter(entry[0]) == first]
    return sorted([*found, *bare], key=lambda entry: entry[0].lineno)


def _first_parameter(node: FunctionNode) -> str:
    return next((parameter.arg for parameter in [*node.args.posonlyargs, *node.args.args]), "")


def _is_alternative(new: ParsedSource, entry: Definition, chosen: Definition) -> bool:
    """Return whether two definitions are in different branches, so that run-time conditions decide between them."""
    straight = {id(new.tree.body)} | {id(parent.body) for parent in chosen[1]}
    return entry[2] is not chosen[2] and id(chosen[2]) not in straight


def _assigned(new: ParsedSource, qualname: str) -> int | None:
    """Return the line on which the candidate binds a target's name other than by `def` or `class`, if there is one."""
    bodies = [new.tree.body, *(node.body for node in ast.walk(new.tree) if isinstance(node, ast.ClassDef))]
    binders = (node for body in bodies for node in body if qualname.rpartition(".")[2] in bound(node))
    return next((node.lineno for node in binders if not isinstance(node, DefinitionNode)), None)


@dataclass(frozen=True)
class _Needs:
    """The names that the transplanted code needs and the candidate's entries that are transplanted, by scope."""

    wanted: dict[Scope, set[str]]
    taken: dict[Scope, dict[ScopeEntry, None]]


def _needs(scopes: Sequence[Scope], pairs: Sequence[TargetPair]) -> _Needs:
    needs = _Needs({scope: set() for scope in scopes}, {scope: {} for scope in scopes})
    providers = {scope: _providers(scope) for scope in scopes}
    homes = {scope.path: scope for scope in scopes}
    queue: list[tuple[ast.AST, Scope | None]] = [
        (pair.candidate.node, homes.get(tuple(parent.name for parent in pair.mask.parents))) for pair in pairs
    ]
    for piece, home in queue:  # The loop appends to the queue.
        for scope in scopes:
            for name in sorted(_wanted(piece, scope, home) - needs.wanted[scope]):
                needs.wanted[scope].add(name)
                new = [entry for entry in providers[scope].get(name, ()) if entry not in needs.taken[scope]]
                needs.taken[scope].update(dict.fromkeys(new))
                queue += [(entry.node, scope) for entry in new]
    module = scopes[0]
    if needs.wanted[module] - module.mask.binds - module.candidate.binds - _ALWAYS_THERE:
        stars = [entry for entry in module.candidate.entries if entry.is_import and not entry.binds]
        needs.taken[module].update(dict.fromkeys(entry for entry in stars if entry.key not in module.mask.keys))
    return needs


def _wanted(piece: ast.AST, scope: Scope, home: Scope | None) -> set[str]:
    """Return the names of a scope that a piece of code needs; `home` is the scope that contains the piece."""
    if not scope.path:
        return used(piece)
    owners = {scope.path[-1]}
    if home is not scope:
        return attributes(piece, owners)
    if isinstance(piece, FunctionNode):
        parameters = [*piece.args.posonlyargs, *piece.args.args]
        owners |= {"self", "cls", *(parameter.arg for parameter in parameters[:1])}
    return attributes(piece, owners) | used(piece, deferred=False)


def _providers(scope: Scope) -> dict[str, list[ScopeEntry]]:
    """Map each name to the entries of the candidate that are transplanted if the name is needed."""
    providers: dict[str, list[ScopeEntry]] = {}
    known = scope.mask.binds
    for entry in scope.candidate.entries:
        names: frozenset[str] = frozenset()
        if entry.key in scope.mask.keys:
            continue
        if not entry.binds & known or _extends_package(scope, entry):
            names = entry.binds
        if not entry.binds & known and not entry.writes & known:
            names |= entry.writes
        for name in names:
            providers.setdefault(name, []).append(entry)
    return providers


def _extends_package(scope: Scope, entry: ScopeEntry) -> bool:
    """Return whether an entry is an `import a.b` that only extends the masked file's `import a`."""
    binders = [other.node for other in scope.mask.entries if other.binds & entry.binds]
    return bool(binders) and all(
        isinstance(node, ast.Import) and node.names[0].asname is None for node in (entry.node, *binders)
    )


def _replacements(mask: ParsedSource, new: ParsedSource, pairs: Iterable[TargetPair]) -> Iterator[TextEdit]:
    for pair in pairs:
        old, function = pair.mask, pair.candidate
        # If the candidate's function has no decorators, those of the masked file are kept.
        begin = old.start if function.node.decorator_list else old.header
        text = new.moved(function.start, function.end, mask.margin(old.header), mask.newline(old.header))
        yield mask.line_start(begin), old.end, text


def _insertions(
    mask: ParsedSource, new: ParsedSource, scopes: Sequence[Scope], taken: dict[Scope, dict[ScopeEntry, None]]
) -> list[TextEdit]:
    edits = []
    for scope in scopes:
        entries = [entry for entry in scope.candidate.entries if entry in taken[scope]]
        imports = [entry for entry in entries if entry.is_import and not scope.path]
        rest = [entry for entry in entries if not entry.is_import or scope.path]
        if imports:
            edits.append(_new_imports(mask, new, scope, imports))
        holder = scope.mask.holders[0]
        margin = mask.margin(mask.extent(holder)[0])
        for position, group in _by_position(scope, rest).items():
            newline = mask.newline(mask.begin(holder))
            gap = newline * (2 if scope.path else 3)
            text = _rendered(new, group, margin, newline, gap)
            if position == scope.mask.body.index(holder):
                offset = mask.line_start(mask.extent(holder)[0])
                edits.append((offset, offset, text + gap))
            else:
                offset = _line_after(mask, scope.mask.body[position - 1])
                lead = gap[len(newline) :] if offset == mask.line_start(offset) else gap
                edits.append((offset, offset, lead + text + newline))
    return edits


def _new_imports(mask: ParsedSource, new: ParsedSource, module: Scope, imports: Sequence[ScopeEntry]) -> TextEdit:
    """Return the edit that inserts imports.

    They are inserted after the last import above the first target. If there is no such import, they are inserted after
    the module's docstring, or else at the top.
    """
    above = module.mask.body[: module.mask.body.index(module.mask.holders[0])]
    anchors = [statement for statement in above if isinstance(statement, ast.Import | ast.ImportFrom)]
    newline = mask.newline(0)
    lines = _rendered(new, imports, "", newline, "") + newline
    if anchors:
        offset = _line_after(mask, anchors[-1])
    elif above and is_docstring(above[0]):
        offset, lines = _line_after(mask, above[0]), newline + lines
    else:
        offset, lines = mask.line_start(mask.extent(module.mask.body[0])[0]), lines + 2 * newline
    return offset, offset, lines


def _by_position(scope: Scope, entries: Iterable[ScopeEntry]) -> dict[int, list[ScopeEntry]]:
    """Group entries by the index in the masked body at which they are inserted.

    This is the index of the first holder (a statement that contains a target), or a later one if an entry depends on a
    statement at or after the holder.
    """
    first = scope.mask.body.index(scope.mask.holders[0])
    ready = {name: position + 1 for position, node in enumerate(scope.mask.body) for name in bound(node)}
    ready |= {name: 0 for node in scope.mask.body[:first] for name in bound(node)}
    positions: dict[int, list[ScopeEntry]] = {}
    for entry in entries:
        needed = used(entry.node, deferred=False)
        position = max([first, *(ready[name] for name in needed if name in ready)])
        ready |= {name: position for name in entry.binds | entry.writes if name not in scope.mask.binds}
        positions.setdefault(position, []).append(entry)
    return positions


def _rendered(source: ParsedSource, entries: Iterable[ScopeEntry], margin: str, newline: str, gap: str) -> str:
    """Return the text of entries, with `gap` around definitions. Imports list only the names that are transplanted."""
    names: dict[ast.stmt, list[ast.alias]] = {}
    for entry in entries:
        names.setdefault(entry.origin, []).extend(getattr(entry.node, "names", []) if entry.is_import else [])
    text, previous = "", None
    for statement, aliases in names.items():
        if previous:
            text += gap if isinstance(previous, DefinitionNode) or isinstance(statement, DefinitionNode) else newline
        match statement:
            case ast.Import():
                text += margin + ast.unparse(ast.Import(aliases))
            case ast.ImportFrom(module=module, level=level):
                text += margin + ast.unparse(ast.ImportFrom(module, aliases, level))
            case _:
                text += source.moved(*source.extent(statement), margin, newline)
        previous = statement
    return text


def _line_after(source: ParsedSource, statement: ast.stmt) -> int:
    end = source.line_end(source.line(source.extent(statement)[1]))
    return end + len(source.newline(end)) if end < len(source.text) else end
