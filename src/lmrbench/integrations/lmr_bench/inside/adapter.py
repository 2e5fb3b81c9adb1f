"""A function or a method, taken out of a file of a repository of which not everything is installed.

Research code imports much that a sandbox does not have. `loaded` runs only the target and the statements of its file
that the target needs. Of a class, it keeps the methods that the target calls, and the bases that can be imported; an
`instance` is then made without the class's own `__init__`, from the attributes that the target reads. A statement
counts by the names that it binds; one that only changes an object is not found.
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
    """Run what a function needs of its file, and return the function, or the class that holds it.

    Args:
        file: the path of the file, below the current folder.
        qualname: `function` or `Class.method`.
        packages: the packages that are installed, beside Python's own modules.
        methods: other methods of the class that are called, as `__init__`.
    """
    tree = ast.parse(Path(file).read_bytes())
    tree.body = statements_for(tree, qualname, packages, methods)
    made = ModuleType(".".join(Path(file).with_suffix("").parts))
    made.__file__, made.__package__ = file, ".".join(Path(file).parts[:-1])
    exec(compile(tree, file, "exec"), made.__dict__)
    return getattr(made, qualname.partition(".")[0])


def instance(kind: Any, **attributes: Any) -> Any:
    """Make an object of a class without calling its `__init__`, and give it attributes."""
    made = kind.__new__(kind)
    for base in kind.__mro__:
        # A module of torch keeps its hooks and parameters in attributes that every call reads.
        if (base.__module__, base.__name__) == ("torch.nn.modules.module", "Module"):
            base.__init__(made)
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def statements_for(
    tree: ast.Module, qualname: str, packages: Collection[str], methods: Collection[str] = ()
) -> list[ast.stmt]:
    """The statements of a module that a function needs, in their order: those that bind its name and what they need.

    Of an import only the names that are needed, of the target's class and its bases in this file only what the method
    and `methods` reach. Annotations of functions are dropped, since they may name anything.
    """
    owner, _, method = qualname.rpartition(".")
    name = owner.partition(".")[0] or method
    parts = parts_of(_unannotated(tree))
    if owner:
        _reduce_classes(parts, name, {method, *methods}, packages)
    return reached(parts, name)


def reads_of_self(statements: Iterable[ast.stmt], owner: str) -> list[str]:
    """The attributes of `self` that the methods of a class and of its bases read, `configs.rate` as such.

    statements: those that `statements_for` returns. The methods themselves, and what the classes or the methods set,
    are left out.
    """
    chain = _chain(statements, owner)
    bodies = [part for kind in chain for part in kind.body]
    used = [item for part in bodies for item in _members(part)]
    own = {name for part in bodies for name in names_of(part)[0]} | {name for _, name, is_read in used if not is_read}
    # A base from elsewhere is taken to have what is asked of it.
    is_alone = {ast.unparse(base) for kind in chain for base in kind.bases} <= {kind.name for kind in chain}
    reads = (name for by_super, name, is_read in used if is_read and (is_alone or not by_super))
    return list(dict.fromkeys(name for name in reads if name.partition(".")[0] not in own))


def _members(method: ast.stmt) -> Iterator[tuple[bool, str, bool]]:
    """What a method uses of its first parameter: whether by `super()`, the name with its dots, whether it is read."""
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
    """Cut a class, and its bases in the same file, to these methods and what they reach of `self`."""
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
    """A class of these statements, and those of its bases that are among them."""
    classes = {part.name: part for part in parts if isinstance(part, ast.ClassDef)}
    names = [owner]
    for name in names:
        bases = classes[name].bases if name in classes else []
        names += [base.id for base in bases if isinstance(base, ast.Name) and base.id not in names]
    return [classes[name] for name in names if name in classes]


def _imported(parts: Iterable[ast.stmt], packages: Collection[str]) -> set[str]:
    """The names that imports of these packages bind."""
    found: set[str] = set()
    for part in parts:
        match part:
            case ast.Import(names=[alias]) if alias.name.partition(".")[0] in packages:
                found.add(alias.asname or alias.name.partition(".")[0])
            case ast.ImportFrom(module=str(module), names=[alias], level=0) if module.partition(".")[0] in packages:
                found.add(alias.asname or alias.name)
    return found
