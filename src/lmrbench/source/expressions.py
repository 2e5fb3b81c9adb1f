"""Mutation operators that each make one mistake in an expression or a statement, for example a forgotten minus.

The audit of a task applies them to the targets (the functions that the task asks for), to test whether the task's check
rejects the mistakes. An operator takes a node from the body of a target and yields nodes that may replace it. Besides
the usual operators, there are some for numerical code.
"""

from __future__ import annotations

import ast
import copy
import difflib
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lmrbench.source.syntax import FunctionNode

# Pairs of methods or functions that are easily confused. The operator "exchanged call" replaces either one of a pair by
# the other.
_EXCHANGED = (
    ("mean", "sum"), ("max", "min"), ("amax", "amin"), ("argmax", "argmin"), ("cummax", "cummin"),
    ("softmax", "log_softmax"), ("sigmoid", "logsigmoid"), ("exp", "log"), ("std", "var"), ("any", "all"),
    ("zeros_like", "ones_like"), ("zeros", "ones"), ("floor", "ceil"), ("sqrt", "square"), ("masked_fill", "where"),
    ("triu", "tril"), ("sin", "cos"), ("append", "extend"), ("cumsum", "cumprod"), ("train", "eval"),
)  # fmt: skip
_EXCHANGES = {old: new for pair in _EXCHANGED for old, new in (pair, pair[::-1])}
# Methods that are easily forgotten. The operator "forgotten call" turns x.m(...) into x.
_FORGOTTEN = frozenset({
    "detach", "clone", "to", "type_as", "float", "double", "long", "bool", "log", "exp", "sqrt", "square", "pow", "abs",
    "softmax", "log_softmax", "sigmoid", "relu", "norm", "clamp", "clamp_min", "clamp_max", "nan_to_num", "round",
    "masked_fill", "masked_scatter", "transpose", "squeeze", "flip", "sort", "mean", "sum", "cumsum",
    "strip", "lower", "upper", "split", "sorted", "reversed",
})  # fmt: skip
# Functions that are easily forgotten. The same operator turns f(x, ...) into x.
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
# Functions that give the same result with their first two arguments swapped.
_SYMMETRIC = frozenset({"transpose", "max", "min", "maximum", "minimum", "logaddexp", "allclose", "isclose", "zip"})
_NO_GRADIENT = ("no_grad", "inference_mode")
AXES = frozenset({"dim", "axis"})
# Keyword arguments that don't affect graded results: `strict` only rejects misuse, and grading uses a single `device`.
GUARDS = frozenset({"strict", "device"})


class Names:
    """Facts about a function that are needed to change its nodes.

    Attributes:
        without_gradient: Whether a decorator turns gradients off.
        parameters: The names of its parameters, except `self` and `cls`.
        stored: The names that it assigns. A name is repeated for each of its assignments.
    """

    def __init__(self, function: FunctionNode) -> None:
        """Collect the facts about a function."""
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
        """Return the other parameters and variables whose names are similar to `name`, at most two.

        The result is [] if `name` itself is not a parameter or variable.
        """
        if name not in self._all:
            return []
        return difflib.get_close_matches(name, [other for other in self._all if other != name], _MOST_SIMILAR, 0.6)

    def bound_twice(self, name: str) -> bool:
        """Return whether the name still has a value after one of its assignments is removed."""
        return name in self.parameters or self.stored.count(name) > 1


@dataclass(frozen=True)
class Operator:
    """A mutation operator, which makes one kind of mistake in nodes of one type.

    Attributes:
        name: The name, which is part of the ids of the mutants (the changed programs).
        kind: The type of the nodes that it changes.
        alternatives: A function that yields the possible replacements of a node.
        why: A description of the mistake.
    """

    name: str
    kind: type[ast.AST] | types.UnionType
    alternatives: Callable[[Any, Names], Iterator[ast.AST]]
    why: str


def nodes_of(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that operators may change, depth first.

    Annotations, parts of f-strings and the keyword arguments in `GUARDS` are left out.
    """
    if isinstance(node, ast.keyword) and node.arg in GUARDS:
        return
    if isinstance(node, ast.keyword) and node.arg in AXES and isinstance(node.value, ast.UnaryOp):
        # The sign is never dropped, because dim=1 is often the same axis as dim=-1, and nothing would change.
        yield from nodes_of(node.value.operand)
        return
    yield node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "ctx") or isinstance(node, ast.JoinedStr):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from nodes_of(child)


def changed(node: Any, **fields: Any) -> Any:
    """Return a copy of a node with the given fields replaced."""
    result = copy.copy(node)
    for name, value in fields.items():
        setattr(result, name, value)
    return result


def constant(value: object) -> ast.Constant:
    """Return the node of a literal."""
    return ast.Constant(value=value)  # type: ignore[arg-type]


def method(receiver: ast.expr, name: str, *arguments: ast.expr) -> ast.Call:
    """Return the node of `receiver.name(*arguments)`."""
    return ast.Call(func=ast.Attribute(value=receiver, attr=name, ctx=ast.Load()), args=list(arguments), keywords=[])


def call_name(node: ast.Call) -> str:
    """Return the name of the called function, without the module or object before it."""
    name: str = getattr(node.func, "attr", getattr(node.func, "id", ""))
    return name


def _arithmetic(node: Any, names: Names) -> Iterator[ast.AST]:
    for other in _ARITHMETIC.get(type(node.op), ()):
        yield changed(node, op=other())


def _dropped_term(node: ast.BinOp, names: Names) -> Iterator[ast.AST]:
    yield node.left
    yield node.right


def _in_place(node: ast.BinOp, names: Names) -> Iterator[ast.AST]:
    in_place = {ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_"}.get(type(node.op))
    if in_place and isinstance(node.left, ast.Name) and node.left.id in names.parameters:
        yield method(node.left, in_place, node.right)


def _sign(node: ast.UnaryOp, names: Names) -> Iterator[ast.AST]:
    yield node.operand


def _comparison(node: ast.Compare, names: Names) -> Iterator[ast.AST]:
    for other in _COMPARISONS[type(node.ops[0])]:
        yield changed(node, ops=[other(), *node.ops[1:]])


def _boolean(node: ast.BoolOp, names: Names) -> Iterator[ast.AST]:
    yield changed(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    yield from node.values


def _value(node: ast.Constant, names: Names) -> Iterator[ast.AST]:
    value = node.value
    if isinstance(value, bool):
        yield constant(not value)
    elif isinstance(value, int):
        yield constant(value + 1)
        yield constant(value - 1)
    elif isinstance(value, float):
        yield constant(2 * value if value else 1.0)
    elif isinstance(value, str):
        yield constant(value + "_")


def _exchanged_call(node: ast.Call, names: Names) -> Iterator[ast.AST]:
    if isinstance(node.func, ast.Attribute) and node.func.attr in _EXCHANGES:
        yield changed(node, func=changed(node.func, attr=_EXCHANGES[node.func.attr]))
    elif isinstance(node.func, ast.Name) and node.func.id in _EXCHANGES:
        yield changed(node, func=changed(node.func, id=_EXCHANGES[node.func.id]))


def _forgotten_call(node: ast.Call, names: Names) -> Iterator[ast.AST]:
    name = call_name(node)
    if isinstance(node.func, ast.Attribute) and name in _FORGOTTEN:
        yield node.func.value
    if node.args and name in _FORGOTTEN_FUNCTIONS:
        yield node.args[0]


def _swapped_arguments(node: ast.Call, names: Names) -> Iterator[ast.AST]:
    name = call_name(node)
    for position in range(len(node.args) - 1 if name not in _SYMMETRIC else 0):
        swapped = list(node.args)
        swapped[position : position + 2] = swapped[position + 1], swapped[position]
        yield changed(node, args=swapped)


def _dropped_keyword(node: ast.Call, names: Names) -> Iterator[ast.AST]:
    for position, keyword in enumerate(node.keywords):
        if keyword.arg not in GUARDS:
            yield changed(node, keywords=node.keywords[:position] + node.keywords[position + 1 :])


def _swapped_variable(node: ast.Name, names: Names) -> Iterator[ast.AST]:
    if isinstance(node.ctx, ast.Load):
        for other in names.like(node.id):
            yield changed(node, id=other)


def _slice_bound(node: ast.Slice, names: Names) -> Iterator[ast.AST]:
    for bound in ("lower", "upper", "step"):
        if getattr(node, bound) is not None:
            yield changed(node, **{bound: None})


def _branch(node: ast.IfExp, names: Names) -> Iterator[ast.AST]:
    yield node.body
    yield node.orelse


def _swapped_items(node: Any, names: Names) -> Iterator[ast.AST]:
    if isinstance(node.ctx, ast.Load):
        for position in range(len(node.elts) - 1):
            swapped = list(node.elts)
            swapped[position : position + 2] = swapped[position + 1], swapped[position]
            yield changed(node, elts=swapped)


def _transposition(node: ast.Attribute, names: Names) -> Iterator[ast.AST]:
    if node.attr in ("T", "mT", "H"):
        yield node.value


def _unfiltered(node: ast.comprehension, names: Names) -> Iterator[ast.AST]:
    for position in range(len(node.ifs)):
        yield changed(node, ifs=node.ifs[:position] + node.ifs[position + 1 :])


def _removed_statement(node: ast.stmt, names: Names) -> Iterator[ast.AST]:
    stored = [item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)]
    # If the only assignment of a name is removed, every use of the name raises an error, which any check notices.
    if all(names.bound_twice(name) for name in stored):
        yield ast.Pass()


def _detached(node: Any, names: Names) -> Iterator[ast.AST]:
    differentiable = isinstance(node.value, ast.BinOp) and not isinstance(node.value.op, ast.BitAnd | ast.BitOr)
    if differentiable and ".detach()" not in ast.unparse(node.value) and not names.without_gradient:
        yield changed(node, value=method(node.value, "detach"))


def _negated(node: Any, names: Names) -> Iterator[ast.AST]:
    if isinstance(node.value, ast.BinOp | ast.Call):
        yield changed(node, value=ast.UnaryOp(op=ast.USub(), operand=node.value))


def _condition(node: Any, names: Names) -> Iterator[ast.AST]:
    yield changed(node, test=constant(False))
    if isinstance(node, ast.If):
        yield changed(node, test=constant(True))


def _left_after_one_turn(node: Any, names: Names) -> Iterator[ast.AST]:
    yield changed(node, body=[*node.body, ast.Break()])


_STATEMENTS = ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr | ast.Raise
EXPRESSIONS: tuple[Operator, ...] = (
    Operator("arithmetic", ast.BinOp, _arithmetic, "plus and minus, or multiplication and division, are confused"),
    Operator("dropped term", ast.BinOp, _dropped_term, "a term of the formula is forgotten"),
    Operator("in place", ast.BinOp, _in_place, "an argument is modified in place"),
    Operator("arithmetic", ast.AugAssign, _arithmetic, "plus and minus, or multiplication and division, are confused"),
    Operator("sign", ast.UnaryOp, _sign, "a minus is forgotten"),
    Operator("comparison", ast.Compare, _comparison, "a bound is wrongly included or excluded, or a test is inverted"),
    Operator("boolean", ast.BoolOp, _boolean, "`and` and `or` are confused, or an operand is forgotten"),
    Operator("value", ast.Constant, _value, "a constant has a wrong value"),
    Operator("exchanged call", ast.Call, _exchanged_call, "similar functions are confused, such as mean and sum"),
    Operator("forgotten call", ast.Call, _forgotten_call, "a stop-gradient, logarithm or norm is forgotten"),
    Operator("swapped arguments", ast.Call, _swapped_arguments, "arguments are in the wrong order"),
    Operator("dropped keyword", ast.Call, _dropped_keyword, "a keyword is left at its default"),
    Operator("swapped variable", ast.Name, _swapped_variable, "a similar name is used"),
    Operator("slice bound", ast.Slice, _slice_bound, "a bound of a slice is forgotten"),
    Operator("branch", ast.IfExp, _branch, "one branch of a conditional expression is always taken"),
    Operator("swapped items", ast.Tuple | ast.List, _swapped_items, "items are in the wrong order"),
    Operator("transposition", ast.Attribute, _transposition, "a transposition is forgotten"),
    Operator("unfiltered", ast.comprehension, _unfiltered, "a filter is forgotten"),
    Operator("removed statement", _STATEMENTS, _removed_statement, "a statement is forgotten"),
    Operator("detached", ast.Assign | ast.Return, _detached, "a gradient is stopped"),
    Operator("negated", ast.Assign | ast.Return, _negated, "a result has the wrong sign"),
    Operator("condition", ast.If | ast.While, _condition, "one branch is always or never taken"),
    Operator("left after one turn", ast.For | ast.While, _left_after_one_turn, "a loop ends too early"),
)
