"""Mistakes of behaviour: wrong in some regime (type, state, layout, order of use), right elsewhere.

Each is a decorator of `inside.wrappers`, put directly above the target's `def`. Which of them make sense for a target
follows from its signature, from the settings of `self` that its body reads, and from the values that all of these have
while the check runs (`inside.recordings`). `numerics` holds those mistakes of this kind that are changes in the body.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from lmrbench.authoring.audit.mutants import Mutant, mutant_id
from lmrbench.records import Record
from lmrbench.source.functions import Function, find
from lmrbench.source.syntax import FunctionNode, ParsedSource, decode
from lmrbench.tasks.model import Target

# Where the code of `inside` lies in a repository under audit.
PLACE = "lmrbench_inside"
_FLOATS = ("float64", "float32")
_MOST_EXTREMES = 2


class Value(Record):
    """What a slot held in one call. kind: floats, array, number, model, or the name of a plain type."""

    kind: str
    value: float | int | bool | str | None = None
    dtype: str = ""
    rows: int = -1


class RecordedCall(Record):
    """One call of a target: its slots, and the built-in exception that it ended in, if any."""

    slots: dict[str, Value]
    raised: str


@dataclass(frozen=True)
class Slot:
    """A parameter, or a setting of `self` as `self.beta`. default: its source text, None without one."""

    name: str
    default: str | None
    values: tuple[Value, ...]

    @property
    def is_setting(self) -> bool:
        """Whether this is a setting of the object."""
        return self.name.startswith("self.")

    @property
    def kinds(self) -> set[str]:
        """The kinds of values that it held."""
        return {value.kind for value in self.values}

    @property
    def numbers(self) -> list[float]:
        """The different numbers that it held, in order."""
        return sorted(
            {value.value for value in self.values if isinstance(value.value, int | float) and value.kind == "number"}
        )


@dataclass(frozen=True)
class Subject:
    """A target as seen by a behaviour: what it takes and reads, and how its calls ended."""

    target: Target
    is_method: bool
    slots: tuple[Slot, ...]
    dtypes: frozenset[str]
    raised: tuple[str, ...]


@dataclass(frozen=True)
class Behaviour:
    """A way to be wrong. settings: yields the arguments of the decorator of that name for each mutant of a subject.

    certain: wrong wherever it happens at all; otherwise a mutant counts only if some input shows a difference.
    """

    name: str
    settings: Callable[[Subject], Iterator[tuple[Any, ...]]]
    why: str
    certain: bool = False


def inside_files() -> dict[str, bytes]:
    """The files that a mutant of behaviour needs beside it, by their paths in the repository."""
    folder = resources.files("lmrbench.authoring.audit") / "inside"
    names = ("__init__", "oracles", "recordings", "widening", "wrappers")
    return {f"{PLACE}/{name}.py": (folder / f"{name}.py").read_bytes() for name in names}


def slot_names(data: bytes, target: Target) -> list[str]:
    """The parameters of a target, and the settings of `self` that it reads, as slots are called."""
    node = find(data, target.qualname).node
    return [*_parameters(node), *_settings(node)]


def with_decorator(data: bytes, target: Target, decorator: str) -> bytes:
    """The file with one more decorator, directly above the target's `def`; an expression on `inside`'s modules."""
    text, encoding = decode(data)
    function = find(data, target.qualname)
    source = ParsedSource.parse(text)
    line = f"@{decorator}{source.newline(function.header)}{source.margin(function.header)}"
    # `find` leaves out a byte order mark, as `ParsedSource` does.
    text = source.text[: function.header] + line + source.text[function.header :]
    return text.encode(encoding)


def decorator(module: str, name: str, *settings: object) -> str:
    """The text of a decorator of `inside`."""
    arguments = ", ".join(map(repr, settings))
    return f'__import__("{PLACE}.{module}", fromlist=["{module}"]).{name}({arguments})'


def behavioural_mutants(data: bytes, target: Target, calls: Sequence[RecordedCall]) -> Iterator[tuple[Mutant, bool]]:
    """Every mutant of behaviour of one target, and whether it is certainly wrong."""
    function = find(data, target.qualname)
    if not calls or isinstance(function.node, ast.AsyncFunctionDef) or _is_generator(function.node):
        return
    subject = _subject(function, target, calls)
    for item in BEHAVIOURS:
        for settings in item.settings(subject):
            text = decorator("wrappers", item.name, *settings)
            # Numbers come from the cases that were recorded: the id leaves them out.
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


def _subject(function: Function, target: Target, calls: Sequence[RecordedCall]) -> Subject:
    defaults = _parameters(function.node)
    values: dict[str, list[Value]] = defaultdict(list)
    for call in calls:
        for name, value in call.slots.items():
            values[name].append(value)
    slots = tuple(Slot(name, defaults.get(name), tuple(found)) for name, found in values.items())
    dtypes = frozenset(value.dtype for slot in slots for value in slot.values if value.kind == "floats")
    raised = tuple(dict.fromkeys(call.raised for call in calls if call.raised))
    is_method = bool(function.parents) and next(iter(defaults), "") != "cls" and _takes_self(function.node)
    return Subject(target, is_method, slots, dtypes, raised)


def _takes_self(node: FunctionNode) -> bool:
    arguments = [*node.args.posonlyargs, *node.args.args]
    return bool(arguments) and arguments[0].arg == "self"


def _parameters(node: FunctionNode) -> dict[str, str | None]:
    """The source of the default of each parameter but `self`; None where it has none."""
    positional = [*node.args.posonlyargs, *node.args.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(node.args.defaults))
    pairs = [*zip(positional, [*defaults, *node.args.defaults], strict=True)]
    pairs += zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    return {
        item.arg: None if default is None else ast.unparse(default)
        for item, default in pairs
        if item.arg not in ("self", "cls")
    }


def _settings(node: FunctionNode) -> list[str]:
    """The attributes of `self` that the body reads and does not call, each as long a path as is read."""
    called = {id(part.func) for part in ast.walk(node) if isinstance(part, ast.Call)}
    inner = {id(part.value) for part in ast.walk(node) if isinstance(part, ast.Attribute)}
    found = []
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Load) and id(part) not in inner:
            # Of `self.weight.T` and `self.pool.run()` what is read of `self` is the attribute before.
            read = part.value if id(part) in called or not _is_path(part) else part
            while isinstance(read, ast.Attribute) and read.attr in _NO_SETTINGS:
                read = read.value
            if isinstance(read, ast.Attribute) and _is_path(read):
                found.append(ast.unparse(read))
    return list(dict.fromkeys(found))


_NO_SETTINGS = frozenset({"T", "mT", "dtype", "device", "shape", "data", "grad"})


def _is_path(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id == "self"


def _is_generator(node: ast.AST) -> bool:
    """Whether there is a `yield` that is not one of an inner function."""
    inner = [part for part in ast.iter_child_nodes(node) if not isinstance(part, ast.Lambda | FunctionNode)]
    return any(isinstance(part, ast.Yield | ast.YieldFrom) or _is_generator(part) for part in inner)


# What follows is the table. A function yields the settings of a decorator, once for each mutant.


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
    Behaviour("computed_in", _dtypes, "the precision of the inputs is lost, or the result has another type"),
    Behaviour("half_promoted", _with_floats, "the result of half precision has another type"),
    Behaviour("detached", _of_kind("floats"), "no gradient reaches an argument"),
    Behaviour("changed_in_place", _of_kind("floats", "array", "list", "dict"), "an argument is changed", certain=True),
    Behaviour("needs_contiguous", _of_kind("floats", "array"), "`.view` fails where `.reshape` does not"),
    Behaviour("needs_rows", _rows, "the smallest inputs are refused"),
    Behaviour("ignored", _optional, "a parameter has no effect"),
    Behaviour("read_elsewhere", _of_self, "a value is taken from another place that mostly holds the same"),
    Behaviour("clipped", _ranges, "the ends of a range are cut off"),
    Behaviour("treated_as_absent", _specials, "`x or default` where `x is None` is meant"),
    Behaviour("kept_from_first_call", _kept, "the object remembers what belongs to a call", certain=True),
    Behaviour("kept_result", _methods, "the object remembers its first result", certain=True),
    Behaviour("setting_left_changed", _settings_of_self, "the object is left with another setting", certain=True),
    Behaviour("attribute_left", _methods, "the object is left with a new attribute"),
    Behaviour("model_left_evaluating", _models, "the model is left in another mode", certain=True),
    Behaviour("model_left_training", _models, "the model is left in another mode", certain=True),
    Behaviour("model_left_in_single_precision", _models, "the model is left in another type", certain=True),
    Behaviour("model_left_frozen", _models, "the model is left without gradients", certain=True),
    Behaviour("draws_random_numbers", _once, "the global generators are used where none should be"),
    Behaviour("reseeds", _once, "the global generators are seeded"),
    Behaviour("generator_of_its_own", _generators, "without a generator nothing is random"),
    Behaviour("generator_copied", _generators, "the generator that was passed does not move on"),
    Behaviour("order_reversed", _once, "a dict in another order"),
    Behaviour("raises_instead", _exceptions, "another exception than the documented one"),
    Behaviour("does_not_raise", _each_exception, "no exception where one is documented"),
)
