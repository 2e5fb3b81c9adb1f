"""Subjects: the facts about a target (a masked function) that determine its behavioural mutants (see `behaviours`).

The facts come from the definition of the target and from recorded calls.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from lmrbench.records import Record
from lmrbench.source.functions import Function, find
from lmrbench.source.syntax import FunctionNode
from lmrbench.tasks.model import Target

# Attributes of tensors, which are not settings of `self`.
_NO_SETTINGS = frozenset({"T", "mT", "dtype", "device", "shape", "data", "grad"})


class SlotValue(Record):
    """The value of a slot (see `Slot`) in one call of a target.

    Attributes:
        kind: `floats` for a floating point tensor or array, `array` for any other tensor or array, `number`, `model`,
            or the name of the type.
        value: The value, if it is a number, string, boolean or None.
        dtype: The dtype of a tensor or array.
        rows: The length of the first axis of a tensor or array, or of a list, tuple or dict; -1 if there is none.
    """

    kind: str
    value: float | int | bool | str | None = None
    dtype: str = ""
    rows: int = -1


class RecordedCall(Record):
    """One call of a target.

    Attributes:
        slots: The values of the slots, by name.
        raised: The name of the exception that it raised, or of the closest built-in base class; empty if it raised
            none.
    """

    slots: dict[str, SlotValue]
    raised: str


@dataclass(frozen=True)
class Slot:
    """A parameter, or a setting of `self` such as `self.beta`.

    Attributes:
        name: The name, such as `beta` or `self.beta`.
        default: The source code of its default; None if it has none.
        values: Its values in the recorded calls.
    """

    name: str
    default: str | None
    values: tuple[SlotValue, ...]

    @property
    def is_setting(self) -> bool:
        """Whether this is a setting of `self`."""
        return self.name.startswith("self.")

    @property
    def kinds(self) -> set[str]:
        """The kinds of its values."""
        return {value.kind for value in self.values}

    @property
    def numbers(self) -> list[float]:
        """The distinct numbers among its values, in ascending order."""
        return sorted(
            {value.value for value in self.values if isinstance(value.value, int | float) and value.kind == "number"}
        )


@dataclass(frozen=True)
class Subject:
    """The facts about a target that determine its behavioural mutants.

    Attributes:
        target: The file and qualified name of the target.
        is_method: Whether it is called with `self`.
        slots: Its parameters, and the settings of `self` that it reads.
        dtypes: The floating point dtypes among the values of the slots.
        raised: The names of the built-in exceptions that the recorded calls raised.
    """

    target: Target
    is_method: bool
    slots: tuple[Slot, ...]
    dtypes: frozenset[str]
    raised: tuple[str, ...]


def slot_names(data: bytes, target: Target) -> list[str]:
    """Return the names of a target's slots: its parameters, and the settings of `self` that it reads.

    Args:
        data: The content of the file that contains the target.
        target: The file and qualified name of the target.
    """
    node = find(data, target.qualname).node
    return [*_parameters(node), *_settings(node)]


def subject_of(function: Function, target: Target, calls: Sequence[RecordedCall]) -> Subject:
    """Collect the facts about a target from its definition and from recorded calls.

    Args:
        function: The definition of the target.
        target: The file and qualified name of the target.
        calls: Recorded calls of the target.
    """
    defaults = _parameters(function.node)
    values: dict[str, list[SlotValue]] = defaultdict(list)
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
    """Return the source code of the default (or None) of each parameter except `self` and `cls`."""
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
    """Return the attributes of `self` that the body reads but does not call, as full paths such as `self.args.beta`."""
    called = {id(part.func) for part in ast.walk(node) if isinstance(part, ast.Call)}
    inner = {id(part.value) for part in ast.walk(node) if isinstance(part, ast.Attribute)}
    found = []
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Load) and id(part) not in inner:
            # In `self.weight.T` and `self.pool.run()`, the settings are `self.weight` and `self.pool`.
            read = part.value if id(part) in called or not _is_path(part) else part
            while isinstance(read, ast.Attribute) and read.attr in _NO_SETTINGS:
                read = read.value
            if isinstance(read, ast.Attribute) and _is_path(read):
                found.append(ast.unparse(read))
    return list(dict.fromkeys(found))


def _is_path(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id == "self"
