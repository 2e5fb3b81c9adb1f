"""Behavioural mutants: variants of a target (a masked function) that are wrong only under some conditions.

Such a condition is a dtype, a state, a memory layout or an order of calls. The mistake is made by a decorator from
`inside.wrappers`, which is placed directly above the target's `def`. The choice of decorators depends on the target's
signature, on the settings of `self` that its body reads, and on the values that parameters and settings have while the
check runs (`inside.recordings`). `numerics` makes further behavioural mutants by changing expressions in the body.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from lmrbench.authoring.audit.mutants import Mutant, mutant_id
from lmrbench.authoring.audit.subjects import RecordedCall, Subject, subject_of
from lmrbench.source.functions import find
from lmrbench.source.syntax import FunctionNode, ParsedSource, decode
from lmrbench.tasks.model import Target

# The folder in the audited repository to which the modules of `inside` are copied.
PLACE = "lmrbench_inside"
_FLOATS = ("float64", "float32")


@dataclass(frozen=True)
class Behaviour:
    """A kind of mistake.

    Attributes:
        name: The name of the decorator in `inside.wrappers`.
        settings: A function that takes a subject (the facts about a target) and yields the decorator's arguments, once
            for each mutant.
        why: A description of the mistake.
        certain: Whether the mutant is wrong whenever it has an effect. Otherwise it counts only if some input shows a
            difference.
    """

    name: str
    settings: Callable[[Subject], Iterator[tuple[Any, ...]]]
    why: str
    certain: bool = False


def inside_files() -> dict[str, bytes]:
    """Return the modules of `inside` as files to add to a repository, by path."""
    folder = resources.files("lmrbench.authoring.audit") / "inside"
    names = ("__init__", "oracles", "recordings", "widening", "wrappers")
    return {f"{PLACE}/{name}.py": (folder / f"{name}.py").read_bytes() for name in names}


def with_decorator(data: bytes, target: Target, decorator: str) -> bytes:
    """Return the content of a file with another decorator directly above the target's `def`.

    Args:
        data: The content of the file that contains the target.
        target: The function to decorate.
        decorator: The expression after `@`, as returned by the function `decorator`.
    """
    text, encoding = decode(data)
    function = find(data, target.qualname)
    source = ParsedSource.parse(text)
    line = f"@{decorator}{source.newline(function.header)}{source.margin(function.header)}"
    # The offset refers to `source.text`, because both `find` and `ParsedSource` leave out a byte order mark.
    text = source.text[: function.header] + line + source.text[function.header :]
    return text.encode(encoding)


def decorator(module: str, name: str, *settings: object) -> str:
    """Return a Python expression for a decorator that is defined in `inside`.

    Args:
        module: The name of the module in `inside` that defines it.
        name: The name of the decorator.
        settings: The arguments of the decorator.
    """
    arguments = ", ".join(map(repr, settings))
    return f'__import__("{PLACE}.{module}", fromlist=["{module}"]).{name}({arguments})'


def behavioural_mutants(data: bytes, target: Target, calls: Sequence[RecordedCall]) -> Iterator[tuple[Mutant, bool]]:
    """Yield each behavioural mutant of a target, and whether it is certain to be wrong (see `Behaviour.certain`).

    Args:
        data: The content of the file that contains the target.
        target: The function to mutate.
        calls: Recorded calls of the target.
    """
    function = find(data, target.qualname)
    if not calls or isinstance(function.node, ast.AsyncFunctionDef) or _is_generator(function.node):
        return
    subject = subject_of(function, target, calls)
    for item in BEHAVIOURS:
        for settings in item.settings(subject):
            text = decorator("wrappers", item.name, *settings)
            # Numeric settings depend on the recorded calls, so they are not part of the id.
            change = " ".join(str(part) for part in settings if isinstance(part, str))
            if item.name in ("clipped", "treated_as_absent"):
                change = f"{settings[0]} {_described(item.name, settings)}"
            name = item.name.replace("_", " ")
            shown = f"+@{item.name}({', '.join(map(repr, settings))})"
            yield (
                Mutant(mutant_id(target, name, change), name, target, shown, with_decorator(data, target, text)),
                item.certain,
            )


def _described(name: str, settings: tuple[Any, ...]) -> str:
    if name == "treated_as_absent":
        return repr(settings[1])
    return "below" if settings[2] == float("inf") else "above"


def _is_generator(node: ast.AST) -> bool:
    """Return whether a function contains a `yield` that is not in an inner function."""
    inner = [part for part in ast.iter_child_nodes(node) if not isinstance(part, ast.Lambda | FunctionNode)]
    return any(isinstance(part, ast.Yield | ast.YieldFrom) or _is_generator(part) for part in inner)


# The table `BEHAVIOURS` is at the end. The functions before it yield the arguments of decorators, once for each mutant.


def _once(subject: Subject) -> Iterator[tuple[Any, ...]]:
    yield ()


def _dtypes(subject: Subject) -> Iterator[tuple[Any, ...]]:
    for dtype in _FLOATS if subject.dtypes else ():
        yield dtype, True
        yield dtype, False


def _with_floats(subject: Subject) -> Iterator[tuple[Any, ...]]:
    if subject.dtypes:
        yield ()


def _of_kind(*kinds: str, settings: bool = False) -> Callable[[Subject], Iterator[tuple[Any, ...]]]:
    def of_kind(subject: Subject) -> Iterator[tuple[Any, ...]]:
        for slot in subject.slots:
            if slot.kinds & set(kinds) and slot.is_setting <= settings:
                yield (slot.name,)

    return of_kind


def _rows(subject: Subject) -> Iterator[tuple[Any, ...]]:
    for slot in subject.slots:
        if slot.kinds & {"floats", "array", "list", "tuple"} and not slot.is_setting:
            yield slot.name, 1
            yield slot.name, 2


def _optional(subject: Subject) -> Iterator[tuple[Any, ...]]:
    for slot in subject.slots:
        if slot.default is not None:
            yield (slot.name,)


def _of_self(subject: Subject) -> Iterator[tuple[Any, ...]]:
    for slot in subject.slots if subject.is_method else ():
        if slot.kinds - {"floats", "array", "model"}:
            yield (slot.name,)


def _ranges(subject: Subject) -> Iterator[tuple[Any, ...]]:
    for slot in subject.slots:
        numbers = slot.numbers
        if numbers:
            yield slot.name, numbers[min(1, len(numbers) - 1)], float("inf")
            yield slot.name, float("-inf"), numbers[max(-2, -len(numbers))]


_SPECIALS = (("number", 0), ("number", 1), ("str", ""), ("NoneType", None))


def _specials(subject: Subject) -> Iterator[tuple[Any, ...]]:
    for slot in subject.slots:
        typical: list[object] = [value.value for value in slot.values if value.value not in (0, 1, None, "")]
        instead = _literal(slot.default) if slot.default is not None else None
        specials: list[object] = [special for kind, special in _SPECIALS if kind in slot.kinds]
        for special in specials:
            other = instead if instead not in (None, special) else next(iter(typical), None)
            if other is not None and other != special:
                yield slot.name, special, other


def _literal(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except ValueError:
        return None


def _kept(subject: Subject) -> Iterator[tuple[Any, ...]]:
    for slot in subject.slots if subject.is_method else ():
        if slot.kinds & {"floats", "array", "number", "str", "bool", "list", "dict", "tuple"}:
            yield (slot.name,)


def _methods(subject: Subject) -> Iterator[tuple[Any, ...]]:
    if subject.is_method:
        yield ()


def _settings_of_self(subject: Subject) -> Iterator[tuple[Any, ...]]:
    for slot in subject.slots:
        if slot.is_setting and slot.kinds & {"number", "bool", "str", "dict"}:
            yield (slot.name,)


def _models(subject: Subject) -> Iterator[tuple[Any, ...]]:
    yield from _of_kind("model", settings=True)(subject)


def _generators(subject: Subject) -> Iterator[tuple[Any, ...]]:
    yield from _of_kind("Generator")(subject)


def _exceptions(subject: Subject) -> Iterator[tuple[Any, ...]]:
    for name in subject.raised:
        yield name, "RuntimeError" if name != "RuntimeError" else "ValueError"
        if name != "ValueError":
            yield name, "ValueError"


def _each_exception(subject: Subject) -> Iterator[tuple[Any, ...]]:
    for name in subject.raised:
        yield (name,)


BEHAVIOURS: tuple[Behaviour, ...] = (
    Behaviour("computed_in", _dtypes, "the precision of the inputs is lost, or the result has another dtype"),
    Behaviour("half_promoted", _with_floats, "the result for half-precision inputs has another dtype"),
    Behaviour("detached", _of_kind("floats"), "no gradient reaches an argument"),
    Behaviour("changed_in_place", _of_kind("floats", "array", "list", "dict"), "an argument is changed", certain=True),
    Behaviour("needs_contiguous", _of_kind("floats", "array"), "`.view` fails where `.reshape` does not"),
    Behaviour("needs_rows", _rows, "the smallest inputs are refused"),
    Behaviour("ignored", _optional, "a parameter has no effect"),
    Behaviour("read_elsewhere", _of_self, "a value is read from another attribute that usually has the same value"),
    Behaviour("clipped", _ranges, "the ends of a range are cut off"),
    Behaviour("treated_as_absent", _specials, "`x or default` where `x is None` is meant"),
    Behaviour("kept_from_first_call", _kept, "the object keeps a value from its first call", certain=True),
    Behaviour("kept_result", _methods, "the object remembers its first result", certain=True),
    Behaviour("setting_left_changed", _settings_of_self, "a setting of the object stays changed", certain=True),
    Behaviour("attribute_left", _methods, "the object is left with a new attribute"),
    Behaviour("model_left_evaluating", _models, "the model is left in another mode", certain=True),
    Behaviour("model_left_training", _models, "the model is left in another mode", certain=True),
    Behaviour("model_left_in_single_precision", _models, "the model is left in another dtype", certain=True),
    Behaviour("model_left_frozen", _models, "the model is left without gradients", certain=True),
    Behaviour("draws_random_numbers", _once, "the global generators are used where none should be"),
    Behaviour("reseeds", _once, "the global generators are seeded"),
    Behaviour("generator_of_its_own", _generators, "without a generator, every call gives the same result"),
    Behaviour("generator_copied", _generators, "the generator that was passed does not advance"),
    Behaviour("order_reversed", _once, "the keys of a dict are in another order"),
    Behaviour("raises_instead", _exceptions, "another exception is raised than the documented one"),
    Behaviour("does_not_raise", _each_exception, "a documented exception is not raised"),
)
