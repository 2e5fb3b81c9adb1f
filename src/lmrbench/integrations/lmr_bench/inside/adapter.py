"""Load a single function or method from a repository, even if not all dependencies of the repository are installed.

Research code imports many packages that a sandbox lacks. `loaded` runs only the target (the function or method) and the
statements of its file that the target needs. It reduces the target's class to the methods that the target calls and the
bases that can be imported. `instance` then creates an object without calling the class's own `__init__`, with the
attributes that the target reads. Statements are found by the names that they bind, so a statement that only modifies an
object is missed.
"""

import ast
import builtins
import sys
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from lmrbench.source.reached import names_of, parts_of, reached

_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


def loaded(file: str, qualname: str, packages: Collection[str], methods: Collection[str] = ()) -> Any:
    """Load a function together with the statements of its file that it needs.

    Args:
        file: The path of the file relative to the current folder.
        qualname: `function` or `Class.method`.
        packages: The installed packages, without the standard library.
        methods: Other methods of the class that will be called, such as `__init__`.

    Returns:
        The function, or the class of the method.
    """
    tree = ast.parse(Path(file).read_bytes())
    tree.body = statements_for(tree, qualname, packages, methods)
    made = ModuleType(".".join(Path(file).with_suffix("").parts))
    made.__file__, made.__package__ = file, ".".join(Path(file).parts[:-1])
    exec(compile(tree, file, "exec"), made.__dict__)
    return getattr(made, qualname.partition(".")[0])


def instance(kind: Any, **attributes: Any) -> Any:
    """Make an object of a class without calling its `__init__`, and set attributes.

    Args:
        kind: The class.
        attributes: The attributes to set.

    Returns:
        The object.
    """
    made = kind.__new__(kind)
    for base in kind.__mro__:
        # torch.nn.Module stores hooks and parameters in attributes that every call reads.
        if (base.__module__, base.__name__) == ("torch.nn.modules.module", "Module"):
            base.__init__(made)
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def statements_for(
    tree: ast.Module, qualname: str, packages: Collection[str], methods: Collection[str] = ()
) -> list[ast.stmt]:
    """Return the statements of a module that a function needs, in order.

    Imports are reduced to the names that are needed, and the target's class and its bases to the members that the
    methods use. Annotations of functions are removed, since they may refer to packages that are not installed.

    Args:
        tree: The module; it is modified.
        qualname: `function` or `Class.method`.
        packages: The installed packages, without the standard library.
        methods: Other methods of the class that will be called.

    Returns:
        The statements.
    """
    owner, _, method = qualname.rpartition(".")
    name = owner.partition(".")[0] or method
    parts = parts_of(_unannotated(tree))
    if owner:
        _reduce_classes(parts, name, {method, *methods}, packages)
    return reached(parts, name)


def reads_of_self(statements: Iterable[ast.stmt], owner: str) -> list[str]:
    """Return the attributes of `self` that the methods of a class and its bases read.

    Args:
        statements: The statements that `statements_for` returned.
        owner: The name of the class.

    Returns:
        The names of the attributes, with dots for nested attributes (`configs.rate`). Methods, and attributes that the
        classes set themselves, are omitted.
    """
    chain = _chain(statements, owner)
    bodies = [part for kind in chain for part in kind.body]
    used = [item for part in bodies for item in _members(part)]
    own = {name for part in bodies for name in names_of(part)[0]} | {name for _, name, is_read in used if not is_read}
    # A base class from another module is assumed to have the attributes that are read with super().
    is_alone = {ast.unparse(base) for kind in chain for base in kind.bases} <= {kind.name for kind in chain}
    reads = (name for by_super, name, is_read in used if is_read and (is_alone or not by_super))
    return list(dict.fromkeys(name for name in reads if name.partition(".")[0] not in own))


def _members(method: ast.stmt) -> Iterator[tuple[bool, str, bool]]:
    """Yield three values for each use of an attribute of `self` or `super()`.

    They are whether `super()` is used, the dotted name of the attribute, and whether the attribute is read.
    """
    if not isinstance(method, _Function):
        return
    itself = [argument.arg for argument in (*method.args.posonlyargs, *method.args.args)][:1]
    within: set[ast.AST] = set()
    for node in ast.walk(method):
        if isinstance(node, ast.Attribute) and node not in within:
            within |= {*ast.walk(node.value)}
            first, *names = ast.unparse(node).split(".")
            if first in (*itself, "super()") and all(name.isidentifier() for name in names):
                yield first == "super()", ".".join(names), isinstance(node.ctx, ast.Load) or len(names) > 1


def _unannotated(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, _Function):
            node.returns = None
    return tree


def _reduce_classes(parts: list[ast.stmt], owner: str, methods: set[str], packages: Collection[str]) -> None:
    """Reduce a class and its bases in the same file to the given methods and the members that they reach."""
    chain = _chain(parts, owner)
    binds = {part: names_of(part)[0] for kind in chain for part in kind.body}
    known, more = set[str](), {*methods}
    while more:
        known |= more
        used = (name for part, names in binds.items() if names & known for _, name, _ in _members(part))
        more = {name.partition(".")[0] for name in used} - known
    roots = {kind.name for kind in chain} | _imported(parts, {*packages, *sys.stdlib_module_names}) | {*dir(builtins)}
    for kind in chain:
        kind.body = [part for part in kind.body if binds[part] & known] or [ast.Pass()]
        kind.bases = [base for base in kind.bases if ast.unparse(base).partition(".")[0] in roots]
        kind.keywords, kind.decorator_list = [], []


def _chain(parts: Iterable[ast.stmt], owner: str) -> list[ast.ClassDef]:
    """Return a class and those of its bases that the statements define."""
    classes = {part.name: part for part in parts if isinstance(part, ast.ClassDef)}
    names = [owner]
    for name in names:
        bases = classes[name].bases if name in classes else []
        names += [base.id for base in bases if isinstance(base, ast.Name) and base.id not in names]
    return [classes[name] for name in names if name in classes]


def _imported(parts: Iterable[ast.stmt], packages: Collection[str]) -> set[str]:
    """Return the names that imports of the given packages bind."""
    found: set[str] = set()
    for part in parts:
        match part:
            case ast.Import(names=[alias]) if alias.name.partition(".")[0] in packages:
                found.add(alias.asname or alias.name.partition(".")[0])
            case ast.ImportFrom(module=str(module), names=[alias], level=0) if module.partition(".")[0] in packages:
                found.add(alias.asname or alias.name)
    return found
