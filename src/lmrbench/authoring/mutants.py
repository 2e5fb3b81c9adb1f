"""Small mistakes in a golden, made by machine: what would a check have to reject?

A mutant is the golden's file with one change in the body of a target. Some operators are those of mutation testing
at large (arithmetic, comparisons, constants, removed statements); others know what goes wrong in this field (signs,
reductions, stop-gradients, masks, axes, logarithms).
"""

from __future__ import annotations

import ast
import copy
import difflib
import hashlib
import textwrap
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lmrbench.tasks.model import Target, Task
from lmrbench.tasks.source import find
from lmrbench.tasks.text import FunctionNode, decode, splice
from lmrbench.tasks.workspace import repository_files

# Methods and functions that a slip of the pen turns into each other; each pair works both ways.
_EXCHANGED = (
    ("mean", "sum"), ("max", "min"), ("amax", "amin"), ("argmax", "argmin"), ("cummax", "cummin"),
    ("softmax", "log_softmax"), ("sigmoid", "logsigmoid"), ("exp", "log"), ("std", "var"), ("any", "all"),
    ("zeros_like", "ones_like"), ("zeros", "ones"), ("floor", "ceil"), ("sqrt", "square"), ("masked_fill", "where"),
    ("triu", "tril"), ("sin", "cos"), ("append", "extend"), ("cumsum", "cumprod"), ("train", "eval"),
)  # fmt: skip
_EXCHANGES = {old: new for pair in _EXCHANGED for old, new in (pair, pair[::-1])}
# Calls of a method that may be forgotten: x.m(...) becomes x.
_FORGOTTEN = frozenset({
    "detach", "clone", "to", "type_as", "float", "double", "long", "bool", "log", "exp", "sqrt", "square", "pow", "abs",
    "softmax", "log_softmax", "sigmoid", "relu", "norm", "clamp", "clamp_min", "clamp_max", "nan_to_num", "round",
    "masked_fill", "masked_scatter", "transpose", "squeeze", "flip", "sort", "mean", "sum", "cumsum",
    "strip", "lower", "upper", "split", "sorted", "reversed",
})  # fmt: skip
# Calls of a function that may be forgotten: f(x, ...) becomes x.
_FORGOTTEN_FUNCTIONS = _FORGOTTEN | frozenset({"relu", "normalize", "logsigmoid", "softplus", "dropout", "int", "set"})

_ARITHMETIC: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult,), ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,), ast.Pow: (ast.Mult,), ast.MatMult: (), ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,),
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
_MOST_SIMILAR = 2
# Functions whose first two arguments can be told apart by nobody.
_SYMMETRIC = frozenset({"transpose", "max", "min", "maximum", "minimum", "logaddexp", "allclose", "isclose", "zip"})
_NO_GRADIENT = ("no_grad", "inference_mode")
_AXES = frozenset({"dim", "axis"})
# Keywords that change no result here: they guard against misuse, or name a device where there is but one.
_GUARDS = frozenset({"strict", "device"})


@dataclass(frozen=True)
class Mutant:
    """One changed golden. id: stable while operator and change are the same. diff: of the function, normalised."""

    id: str
    operator: str
    target: Target
    diff: str
    file: bytes


def mutants(task: Task) -> tuple[Mutant, ...]:
    """Every mutant of a task's targets, each change once, in the order of the text."""
    files = repository_files(task)
    found: dict[str, Mutant] = {}
    for target in task.targets:
        for mutant in _mutants_of(target, files[target.file]):
            found.setdefault(mutant.id, mutant)
    return tuple(found.values())


def _mutants_of(target: Target, data: bytes) -> Iterator[Mutant]:
    text, encoding = decode(data)
    function = find(data, target.qualname)
    original = ast.unparse(function.node)
    margin = " " * 4 * len(function.parents)
    for operator, node in _changed(function.node):
        changed = ast.unparse(node)
        if changed == original:
            continue
        lines = difflib.unified_diff(original.splitlines(), changed.splitlines(), lineterm="", n=2)
        diff = "\n".join(list(lines)[2:])
        name = hashlib.sha256(f"{target}\0{operator}\0{diff}".encode()).hexdigest()[:12]
        # The first line keeps the indentation that the file has before it.
        body = textwrap.indent(changed, margin)[len(margin) :]
        yield Mutant(
            name, operator, target, diff, splice(text, [(function.start, function.end, body)]).encode(encoding)
        )


def _changed(function: FunctionNode) -> Iterator[tuple[str, FunctionNode]]:
    """The function once with each change, and the name of the operator that made it."""
    names = _Names(function)
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    for statement in body:
        for node in _walk(statement):
            for operator, replacement in _alternatives(node, names):
                copies: dict[int, Any] = {}
                clone = copy.deepcopy(function, copies)
                yield operator, _Replacing(copies[id(node)], replacement).visit(clone)


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Depth first, without annotations, guards and the literal parts of f-strings, which are not what is computed."""
    if isinstance(node, ast.keyword) and node.arg in _GUARDS:
        return
    if isinstance(node, ast.keyword) and node.arg in _AXES and isinstance(node.value, ast.UnaryOp):
        # Only the number changes: the last axis counted from the front is often the same one.
        yield from _walk(node.value.operand)
        return
    yield node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "ctx") or isinstance(node, ast.JoinedStr):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child)


class _Replacing(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else self.generic_visit(node)


class _Names:
    """What operators ask of a function as a whole: its parameters, its variables, whether gradients are off."""

    def __init__(self, function: FunctionNode) -> None:
        arguments = function.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        self.without_gradient = any(
            word in ast.unparse(decorator) for decorator in function.decorator_list for word in _NO_GRADIENT
        )
        self.parameters = [item.arg for item in every if item is not None and item.arg not in ("self", "cls")]
        self.stored = [
            node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        ]
        self._all = list(dict.fromkeys([*self.parameters, *self.stored]))

    def like(self, name: str) -> list[str]:
        """The names most like this one, if it is a parameter or variable."""
        if name not in self._all:
            return []
        return difflib.get_close_matches(name, [other for other in self._all if other != name], _MOST_SIMILAR, 0.6)

    def bound_twice(self, name: str) -> bool:
        """Whether the name still has a value when one of its assignments is removed."""
        return name in self.parameters or self.stored.count(name) > 1


def _alternatives(node: ast.AST, names: _Names) -> Iterator[tuple[str, ast.AST]]:
    for kind, operators in _OPERATORS:
        if isinstance(node, kind):
            for operator in operators:
                for replacement in operator(node, names):
                    yield operator.__name__.strip("_").replace("_", " "), replacement


def _with(node: Any, **fields: Any) -> Any:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _constant(value: object) -> ast.Constant:
    return ast.Constant(value=value)  # type: ignore[arg-type]


def _method(receiver: ast.expr, name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(func=ast.Attribute(value=receiver, attr=name, ctx=ast.Load()), args=list(arguments), keywords=[])


def _arithmetic(node: Any, names: _Names) -> Iterator[ast.AST]:
    for other in _ARITHMETIC.get(type(node.op), ()):
        yield _with(node, op=other())


def _dropped_term(node: ast.BinOp, names: _Names) -> Iterator[ast.AST]:
    yield node.left
    yield node.right


def _in_place(node: ast.BinOp, names: _Names) -> Iterator[ast.AST]:
    method = {ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_"}.get(type(node.op))
    if method and isinstance(node.left, ast.Name) and node.left.id in names.parameters:
        yield _method(node.left, method, node.right)


def _sign(node: ast.UnaryOp, names: _Names) -> Iterator[ast.AST]:
    yield node.operand


def _comparison(node: ast.Compare, names: _Names) -> Iterator[ast.AST]:
    for other in _COMPARISONS[type(node.ops[0])]:
        yield _with(node, ops=[other(), *node.ops[1:]])


def _boolean(node: ast.BoolOp, names: _Names) -> Iterator[ast.AST]:
    yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    yield from node.values


def _value(node: ast.Constant, names: _Names) -> Iterator[ast.AST]:
    value = node.value
    if isinstance(value, bool):
        yield _constant(not value)
    elif isinstance(value, int):
        yield _constant(value + 1)
        yield _constant(value - 1)
    elif isinstance(value, float):
        yield _constant(2 * value if value else 1.0)
    elif isinstance(value, str):
        yield _constant(value + "_")


def _exchanged_call(node: ast.Call, names: _Names) -> Iterator[ast.AST]:
    if isinstance(node.func, ast.Attribute) and node.func.attr in _EXCHANGES:
        yield _with(node, func=_with(node.func, attr=_EXCHANGES[node.func.attr]))
    elif isinstance(node.func, ast.Name) and node.func.id in _EXCHANGES:
        yield _with(node, func=_with(node.func, id=_EXCHANGES[node.func.id]))


def _forgotten_call(node: ast.Call, names: _Names) -> Iterator[ast.AST]:
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    if isinstance(node.func, ast.Attribute) and name in _FORGOTTEN:
        yield node.func.value
    if node.args and name in _FORGOTTEN_FUNCTIONS:
        yield node.args[0]


def _swapped_arguments(node: ast.Call, names: _Names) -> Iterator[ast.AST]:
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    for position in range(len(node.args) - 1 if name not in _SYMMETRIC else 0):
        swapped = list(node.args)
        swapped[position : position + 2] = swapped[position + 1], swapped[position]
        yield _with(node, args=swapped)


def _dropped_keyword(node: ast.Call, names: _Names) -> Iterator[ast.AST]:
    for position, keyword in enumerate(node.keywords):
        if keyword.arg not in _GUARDS:
            yield _with(node, keywords=node.keywords[:position] + node.keywords[position + 1 :])


def _swapped_variable(node: ast.Name, names: _Names) -> Iterator[ast.AST]:
    if isinstance(node.ctx, ast.Load):
        for other in names.like(node.id):
            yield _with(node, id=other)


def _slice_bound(node: ast.Slice, names: _Names) -> Iterator[ast.AST]:
    for bound in ("lower", "upper", "step"):
        if getattr(node, bound) is not None:
            yield _with(node, **{bound: None})


def _branch(node: ast.IfExp, names: _Names) -> Iterator[ast.AST]:
    yield node.body
    yield node.orelse


def _swapped_items(node: Any, names: _Names) -> Iterator[ast.AST]:
    if isinstance(node.ctx, ast.Load):
        for position in range(len(node.elts) - 1):
            swapped = list(node.elts)
            swapped[position : position + 2] = swapped[position + 1], swapped[position]
            yield _with(node, elts=swapped)


def _transposition(node: ast.Attribute, names: _Names) -> Iterator[ast.AST]:
    if node.attr in ("T", "mT", "H"):
        yield node.value


def _unfiltered(node: ast.comprehension, names: _Names) -> Iterator[ast.AST]:
    for position in range(len(node.ifs)):
        yield _with(node, ifs=node.ifs[:position] + node.ifs[position + 1 :])


def _removed_statement(node: ast.stmt, names: _Names) -> Iterator[ast.AST]:
    stored = [item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)]
    # Without its only assignment a name is an error wherever it is used: that would prove nothing of a check.
    if all(names.bound_twice(name) for name in stored):
        yield ast.Pass()


def _detached(node: Any, names: _Names) -> Iterator[ast.AST]:
    differentiable = isinstance(node.value, ast.BinOp) and not isinstance(node.value.op, ast.BitAnd | ast.BitOr)
    if differentiable and ".detach()" not in ast.unparse(node.value) and not names.without_gradient:
        yield _with(node, value=_method(node.value, "detach"))


def _negated(node: Any, names: _Names) -> Iterator[ast.AST]:
    if isinstance(node.value, ast.BinOp | ast.Call):
        yield _with(node, value=ast.UnaryOp(op=ast.USub(), operand=node.value))


def _condition(node: Any, names: _Names) -> Iterator[ast.AST]:
    yield _with(node, test=_constant(False))
    if isinstance(node, ast.If):
        yield _with(node, test=_constant(True))


def _left_after_one_turn(node: Any, names: _Names) -> Iterator[ast.AST]:
    yield _with(node, body=[*node.body, ast.Break()])


_Operator = Callable[[Any, _Names], Iterator[ast.AST]]
_OPERATORS: tuple[tuple[type[ast.AST] | types.UnionType, tuple[_Operator, ...]], ...] = (
    (ast.BinOp, (_arithmetic, _dropped_term, _in_place)),
    (ast.AugAssign, (_arithmetic,)),
    (ast.UnaryOp, (_sign,)),
    (ast.Compare, (_comparison,)),
    (ast.BoolOp, (_boolean,)),
    (ast.Constant, (_value,)),
    (ast.Call, (_exchanged_call, _forgotten_call, _swapped_arguments, _dropped_keyword)),
    (ast.Name, (_swapped_variable,)),
    (ast.Slice, (_slice_bound,)),
    (ast.IfExp, (_branch,)),
    (ast.Tuple | ast.List, (_swapped_items,)),
    (ast.Attribute, (_transposition,)),
    (ast.comprehension, (_unfiltered,)),
    (ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr | ast.Raise, (_removed_statement,)),
    (ast.Assign | ast.Return, (_detached, _negated)),
    (ast.If | ast.While, (_condition,)),
    (ast.For | ast.While, (_left_after_one_turn,)),
)
