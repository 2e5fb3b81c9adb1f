"""Rename a submission's own helpers if the repository uses their names for something else.

This is done only if the submission is a fragment. If it repeats most of the repository's file, a helper that differs
from the definition in that file is an edit of the repository, and such edits are not copied.

The candidate is the submitted file. The masked file is the repository's file without the bodies of the targets, which
are the functions that a task asks for. A scope is the body of the module, or of a class that contains a target.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lmrbench.source.functions import is_stub
from lmrbench.source.names import bound, used
from lmrbench.source.scopes import Scope, ScopeEntry, TargetPair, is_docstring, spelling
from lmrbench.source.syntax import DefinitionNode, FunctionNode, ParsedSource, TextEdit, splice

SUFFIX = "_of_answer"


@dataclass(frozen=True)
class Ownership:
    """The result of renaming helpers of a candidate.

    Attributes:
        text: The candidate's text, with the new names.
        names: The new name of each renamed helper, by its old name.
        warnings: One line for each renamed helper.
    """

    text: str
    names: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def own_names(
    candidate: ParsedSource, scopes: Sequence[Scope], pairs: Sequence[TargetPair], elsewhere: Collection[str]
) -> Ownership:
    """Rename the candidate's helpers that its targets need, if the masked file uses their names for something else.

    Args:
        candidate: The submitted file.
        scopes: The scopes that are in both the masked file and the candidate, the module first.
        pairs: The targets, each with its definition in both files.
        elsewhere: The names of targets in other files, and of classes and functions that contain such targets. These
            names are not changed.
    """
    module = scopes[0]
    if _is_whole_file(scopes):
        return Ownership(candidate.text)
    entries: dict[str, list[ScopeEntry]] = {}
    for entry in module.candidate.entries:
        if entry.key not in module.mask.keys:
            for name in entry.binds:
                entries.setdefault(name, []).append(entry)
    names: dict[str, str] = {}
    seen: set[str] = set()
    queue: list[ast.AST] = [pair.candidate.node for pair in pairs]
    for node in queue:  # The loop appends to the queue.
        for name in sorted(used(node) - seen):
            seen.add(name)
            own = entries.get(name, [])
            if name in module.mask.binds:
                if name in elsewhere or not own or not all(_is_other(entry, module, name) for entry in own):
                    continue
                names[name] = name + SUFFIX
            queue += [entry.node for entry in own]
    edits: list[TextEdit] = []
    for old in list(names):
        try:
            edits += [*_renaming(candidate, entries[old], old, names[old])]
        except LookupError:
            del names[old]
    warnings = (
        f"line {entries[old][0].origin.lineno}: `{old}` differs from the repository's; the answer uses its own, "
        f"as `{new}`"
        for old, new in names.items()
    )
    return Ownership(splice(candidate.text, edits), names, tuple(warnings))


def _is_whole_file(scopes: Sequence[Scope]) -> bool:
    """Return whether the candidate repeats most names of the masked file other than the targets.

    The module's docstring counts as one name. In a class that contains a target, all other members together count as
    one name; it counts as repeated if the candidate repeats most of these members.
    """
    module, *classes = scopes
    found = [name in module.candidate.binds for entry in module.mask.entries for name in entry.binds]
    if module.mask.body and is_docstring(module.mask.body[0]):
        found.append(bool(module.candidate.body) and is_docstring(module.candidate.body[0]))
    for scope in classes:
        others = [name in scope.candidate.binds for entry in scope.mask.entries for name in entry.binds]
        found += [2 * sum(others) > len(others)] if others else []
    return 2 * sum(found) > len(found)


def _is_other(entry: ScopeEntry, module: Scope, name: str) -> bool:
    """Return whether a statement of the candidate binds a name to a helper of its own.

    A copy or a stub of the masked file's definition of the name is not such a helper.
    """
    theirs = [other.node for other in module.mask.entries if name in other.binds]
    node = entry.node
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return not is_stub(node) and all(_core(node) != _core(other) for other in theirs)
        case ast.Assign() | ast.AnnAssign():
            return bool(theirs)
        case ast.Import() | ast.ImportFrom():
            imports = [other for other in theirs if isinstance(other, ast.Import | ast.ImportFrom)]
            # If the masked file defines the name, the import may refer to that definition, so it is not a helper.
            return len(imports) == len(theirs) > 0 and all(not _is_same(node, other) for other in imports)
    return False


def _is_same(node: ast.Import | ast.ImportFrom, other: ast.Import | ast.ImportFrom) -> bool:
    """Return whether two imports bind a name to the same object, such as `import a.b as b` and `from a import b`."""
    mine, theirs = _imported(node), _imported(other)
    shorter = min(len(mine), len(theirs))
    return mine[-shorter:] == theirs[-shorter:]


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    alias = node.names[0]
    module = [] if isinstance(node, ast.Import) else (node.module or "").split(".")
    name = alias.name if alias.asname or isinstance(node, ast.ImportFrom) else alias.name.partition(".")[0]
    return [part for part in [*module, *name.split(".")] if part]


def _core(node: ast.stmt) -> str:
    """Return the `spelling` of a definition without its docstrings, annotations and decorators."""
    if not isinstance(node, DefinitionNode):
        return spelling(node)
    parts = [spelling(part) if not isinstance(part, DefinitionNode) else _core(part) for part in node.body]
    parts = [text for part, text in zip(node.body, parts, strict=True) if not is_docstring(part)]
    if isinstance(node, FunctionNode):
        arguments = node.args
        named = [*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg]
        parts += [part.arg for part in named if part]
        parts += [spelling(part) for part in (*arguments.defaults, *arguments.kw_defaults) if part]
    return "\n".join(parts)


def _renaming(source: ParsedSource, entries: Sequence[ScopeEntry], old: str, new: str) -> Iterator[TextEdit]:
    """Yield the edits that rename a helper and all uses of its name; raise LookupError if a use cannot be edited."""
    for entry in entries:
        match entry.node:
            case ast.Import(names=[alias]) | ast.ImportFrom(names=[alias]):
                origin = entry.origin
                assert isinstance(origin, ast.Import | ast.ImportFrom)
                written = next(part for part in origin.names if (part.asname or part.name) == old)
                if "." in alias.name and not alias.asname:
                    raise LookupError(old)
                start = source.offset(written.lineno, written.col_offset)
                end = source.offset(written.end_lineno or written.lineno, written.end_col_offset or 0)
                yield start, end, f"{alias.name} as {new}"
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                index = source.token_at(source.begin(entry.node))
                while source.tokens[index].string != old:
                    index += 1
                place = source.place(source.tokens[index])
                yield place, place + len(old), new
    for name in _uses(source.tree, old):
        start, end = source.begin(name), source.finish(name)
        # Before Python 3.12 the syntax tree has wrong positions for names inside f-strings.
        if source.text[start:end] != old:
            raise LookupError(old)
        yield start, end, new


def _uses(tree: ast.Module, name: str) -> Iterator[ast.Name]:
    """Yield the nodes that refer to the given module-level name.

    Raises:
        LookupError: The name is declared by `global`, or bound by `except` or a pattern.
    """
    pending: list[ast.AST] = [*tree.body]
    while pending:
        node = pending.pop()
        match node:
            case ast.Name(id=found) if found == name:
                yield node
            case ast.Global(names=found_names) if name in found_names:
                raise LookupError(name)
            case ast.ExceptHandler(name=str(found)) | ast.MatchAs(name=str(found)) | ast.MatchStar(name=str(found)):
                if found == name:
                    raise LookupError(name)
                pending += ast.iter_child_nodes(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                body = node.body if isinstance(node.body, list) else [node.body]
                pending += [part for part in ast.iter_child_nodes(node) if part not in body]
                parameters = {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)}
                if name not in parameters | bound(*body) or name in _declared_global(body):
                    pending += body
            case ast.ClassDef():
                pending += [part for part in ast.iter_child_nodes(node) if part not in node.body]
                own = name in bound(*node.body)
                pending += [part for part in node.body if not own or isinstance(part, DefinitionNode)]
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                own = name in bound(*(generator.target for generator in node.generators))
                pending += [node.generators[0].iter] if own else ast.iter_child_nodes(node)
            case _:
                pending += ast.iter_child_nodes(node)


def _declared_global(body: Sequence[ast.AST]) -> set[str]:
    found = (part for node in body for part in ast.walk(node) if isinstance(part, ast.Global))
    return {name for part in found for name in part.names}
