"""Mutation operators whose mutants agree with the original except for extreme values, ties and masked NaN.

They have the same interface as the operators in `source.expressions`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from lmrbench.source.expressions import Names, Operator, call_name, changed, constant, method

_TINY = 1e-8
_ROOTS = frozenset({"sqrt", "rsqrt", "log", "log2", "log10", "norm", "vector_norm", "std"})


def _copied(source: str, **parts: ast.expr) -> ast.expr:
    """Return a parsed expression, with some of its names replaced by the given nodes."""

    class _Filling(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return parts.get(node.id, node)

    filled: ast.expr = _Filling().visit(ast.parse(source, mode="eval").body)
    return filled


def epsilon_in_a_division(node: ast.BinOp, names: Names) -> Iterator[ast.AST]:
    """Yield `a / (b + 1e-8)` for `a / b`."""
    if isinstance(node.op, ast.Div) and not isinstance(node.right, ast.Constant):
        yield changed(node, right=ast.BinOp(node.right, ast.Add(), constant(_TINY)))


def epsilon_in_a_function(node: ast.Call, names: Names) -> Iterator[ast.AST]:
    """Yield `log(x + 1e-8)` for `log(x)`, and `x.norm() + 1e-8` for `x.norm()`."""
    name = call_name(node)
    if name in ("norm", "vector_norm", "std"):
        yield ast.BinOp(node, ast.Add(), constant(_TINY))
    elif name in _ROOTS:
        if isinstance(node.func, ast.Attribute) and not node.args:
            inner = ast.BinOp(node.func.value, ast.Add(), constant(_TINY))
            yield changed(node, func=changed(node.func, value=inner))
        elif node.args:
            yield changed(node, args=[ast.BinOp(node.args[0], ast.Add(), constant(_TINY)), *node.args[1:]])


def naive_form(node: ast.Call, names: Names) -> Iterator[ast.AST]:
    """Yield the textbook formula for a call of a numerically stable function."""
    name, arguments = call_name(node), _array_and_rest(node)
    if name in _NAIVE and arguments:
        yield _copied(_NAIVE[name], x=arguments[0], axis=_axis(node) or constant(-1), y=arguments[-1])


def _array_and_rest(node: ast.Call) -> list[ast.expr]:
    """Return the positional arguments of a call. For a call of a method, the object comes first."""
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
    is_method = receiver is not None and not (isinstance(receiver, ast.Name) and receiver.id in _MODULES)
    return [receiver, *node.args] if receiver is not None and is_method else list(node.args)


def _axis(node: ast.Call) -> ast.expr | None:
    named = [item.value for item in node.keywords if item.arg in ("dim", "axis")]
    return next(iter([*named, *_array_and_rest(node)[1:]]), None)


_MODULES = frozenset({"torch", "F", "np", "numpy", "math", "functional", "scipy", "special"})
_NAIVE = {
    "logsigmoid": "(1 / (1 + (-x).exp())).log()",
    "softplus": "(1 + (x).exp()).log()",
    "log1p": "(1 + x).log()",
    "expm1": "(x).exp() - 1",
    "logsumexp": "(x).exp().sum(axis).log()",
    "log_softmax": "((x).exp() / (x).exp().sum(axis, keepdim=True)).log()",
    "softmax": "(x).exp() / (x).exp().sum(axis, keepdim=True)",
    "logaddexp": "((x).exp() + (y).exp()).log()",
}


def difference_of_exponents(node: ast.Call, names: Names) -> Iterator[ast.AST]:
    """Yield `exp(a) / exp(b)` for `exp(a - b)`."""
    if call_name(node) != "exp":
        return
    in_function = bool(node.args)
    inner = node.args[0] if in_function else getattr(node.func, "value", None)
    if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Sub):
        parts = [
            changed(node, args=[part]) if in_function else method(part, "exp") for part in (inner.left, inner.right)
        ]
        yield ast.BinOp(parts[0], ast.Div(), parts[1])


def mask_by_product(node: ast.Call, names: Names) -> Iterator[ast.AST]:
    """Yield a product with the mask in place of `masked_fill` or `where`. The product keeps NaN and infinities."""
    name = call_name(node)
    if name == "masked_fill" and isinstance(node.func, ast.Attribute) and len(node.args) == 2:
        parts = {"x": node.func.value, "m": node.args[0], "v": node.args[1]}
        finite = isinstance(node.args[1], ast.Constant) and isinstance(node.args[1].value, (int, float))
        if finite:
            yield _copied("(x) * ~(m) + (v) * (m)", **parts)
        else:
            yield _copied("(x) * ~(m) - 1e9 * (m)", **parts)
    elif name == "where" and len(node.args) == 3:
        m, a, b = node.args
        yield _copied("(a) * (m) + (b) * ~(m)", m=m, a=a, b=b)


def mask_by_large_number(node: ast.Call, names: Names) -> Iterator[ast.AST]:
    """Yield a `masked_fill` with a large negative number in place of minus infinity."""
    if call_name(node) in ("masked_fill", "masked_fill_") and len(node.args) == 2:
        text = ast.unparse(node.args[1])
        if "inf" in text or "finfo" in text:
            for value in (-1e4, -1e9):
                yield changed(node, args=[node.args[0], constant(value)])


def rows_by_product(node: ast.Subscript, names: Names) -> Iterator[ast.AST]:
    """Yield `x * mask` for `x[mask]`; the product keeps all rows."""
    if isinstance(node.ctx, ast.Load) and isinstance(node.slice, ast.Name | ast.UnaryOp | ast.Compare):
        is_mask = not isinstance(node.slice, ast.UnaryOp) or isinstance(node.slice.op, ast.Invert)
        if is_mask:
            yield _copied("(x) * (m)", x=node.value, m=node.slice)


def ties_the_other_way(node: ast.Call, names: Names) -> Iterator[ast.AST]:
    """Yield a call that chooses the last of equal values instead of the first."""
    name = call_name(node)
    if name in ("argmax", "argmin") and (axis := _axis(node)) is not None:
        last = f"(x).shape[axis] - 1 - (x).swapaxes(0, axis).flip(0).swapaxes(0, axis).{name}(axis)"
        yield _copied(last, x=_array_and_rest(node)[0], axis=axis)
    elif isinstance(node.func, ast.Name) and node.args and (name == "sorted" or _is_keyed(node)):
        yield changed(node, args=[_copied("list(x)[::-1]", x=node.args[0]), *node.args[1:]])


def _is_keyed(node: ast.Call) -> bool:
    return call_name(node) in ("max", "min") and any(item.arg == "key" for item in node.keywords)


def chained_default(node: ast.Compare, names: Names) -> Iterator[ast.AST]:
    """Yield `not x` for `x is None`. The mutant treats zero, false and empty values as absent."""
    is_none = len(node.ops) == 1 and isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value is None
    if is_none and isinstance(node.ops[0], ast.Is):
        yield ast.UnaryOp(ast.Not(), node.left)
    elif is_none and isinstance(node.ops[0], ast.IsNot):
        yield _copied("bool(x)", x=node.left)


NUMERICS: tuple[Operator, ...] = (
    Operator("epsilon in a division", ast.BinOp, epsilon_in_a_division, "tiny vectors and weights are changed"),
    Operator("epsilon in a function", ast.Call, epsilon_in_a_function, "functions of tiny numbers are changed"),
    Operator("naive form", ast.Call, naive_form, "numbers in the hundreds overflow or round to zero"),
    Operator("difference of exponents", ast.Call, difference_of_exponents, "both exponents overflow"),
    Operator("mask by product", ast.Call, mask_by_product, "zero times NaN is NaN"),
    Operator("mask by large number", ast.Call, mask_by_large_number, "half precision can't represent the number"),
    Operator("rows by product", ast.Subscript, rows_by_product, "rows to remove are kept, and NaN stays in them"),
    Operator("ties the other way", ast.Call, ties_the_other_way, "another one of several equal values is chosen"),
    Operator("absent or falsy", ast.Compare, chained_default, "zero, false and empty values are treated as absent"),
)
