"""Decorators that change the behaviour of a function in the way that a plausible mistake would.

Each is placed directly above `def`. Its arguments may name a *slot*: a parameter (`beta`), or a setting of the object
that a method belongs to (`self.beta`, `self.args.beta`). A decorator has no effect if the value of the slot is not of
the kind that it expects.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import random
import sys
from collections.abc import Callable
from typing import Any

_CONFIGURATIONS = ("args", "config", "cfg", "options", "settings", "hparams")
_HALF = ("float16", "bfloat16")


class Invocation:
    """One call of a function.

    Attributes:
        function: The function to call.
        values: The arguments of the call, by name.
        owner: The object or class that the function belongs to, if it is a method.
    """

    def __init__(self, function: Callable[..., Any], signature: inspect.Signature, *given: Any) -> None:
        """Bind arguments to a function. `given` is a tuple of positional arguments and a dict of keyword arguments."""
        self.function = function
        self.bound = signature.bind(*given[0], **given[1])
        self.bound.apply_defaults()
        self.parameters = signature.parameters
        self.values = self.bound.arguments
        self.owner = self.values.get("self", self.values.get("cls"))

    def run(self) -> Any:
        """Call the function with the current arguments."""
        return self.function(*self.bound.args, **self.bound.kwargs)

    def get(self, slot: str) -> Any:
        """Return the value of a slot, or None if there is no such slot."""
        if not slot.startswith("self."):
            return self.values.get(slot)
        return functools.reduce(lambda value, name: getattr(value, name, None), slot.split(".")[1:], self.owner)

    def put(self, slot: str, value: Any) -> None:
        """Set the value of a slot. A setting of `self` keeps the value after the call."""
        if not slot.startswith("self."):
            self.values[slot] = value
            return
        *path, last = slot.split(".")[1:]
        holder = functools.reduce(getattr, path, self.owner)
        # A torch module must register its tensors itself. object.__setattr__ also works for frozen dataclasses.
        if hasattr(holder, "named_parameters"):
            setattr(holder, last, value)
        else:
            object.__setattr__(holder, last, value)

    def run_with(self, slot: str, value: Any) -> Any:
        """Call the function with another value in a slot, and restore the slot afterwards."""
        before = self.get(slot)
        self.put(slot, value)
        try:
            return self.run()
        finally:
            self.put(slot, before)

    def convert(self, change: Callable[[Any], Any]) -> None:
        """Apply `change` to every tensor and array in the arguments, including those in lists, tuples and dicts."""
        for name, value in self.values.items():
            if name not in ("self", "cls"):
                self.values[name] = converted(value, change)


Decorator = Callable[..., Callable[[Callable[..., Any]], Callable[..., Any]]]


def behaviour(change: Callable[..., Any]) -> Decorator:
    """Make a decorator with arguments: `@name(*settings)` replaces each call by `change(call, *settings)`."""

    def with_settings(*settings: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            signature = inspect.signature(function)

            @functools.wraps(function)
            def changed(*arguments: Any, **keywords: Any) -> Any:
                return change(Invocation(function, signature, arguments, keywords), *settings)

            return changed

        return decorate

    return with_settings


def converted(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a value with `change` applied to every tensor and array in it."""
    if is_array(value):
        return change(value)
    if isinstance(value, dict):
        return {key: converted(item, change) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(converted(item, change) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(converted(item, change) for item in value)
    return value


def is_array(value: Any) -> bool:
    """Return whether a value is a tensor or a numpy array."""
    return hasattr(value, "dtype") and hasattr(value, "shape") and hasattr(value, "reshape")


def is_floating(value: Any) -> bool:
    """Return whether a value is a tensor or array of floating point numbers."""
    return is_array(value) and "float" in str(value.dtype)


def is_model(value: Any) -> bool:
    """Return whether a value is a model, that is, has parameters and an evaluation mode."""
    return callable(getattr(value, "eval", None)) and callable(getattr(value, "parameters", None))


def is_number(value: Any) -> bool:
    """Return whether a value is an int or a float, but not a bool."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def cast(value: Any, dtype: str) -> Any:
    """Return a floating point tensor or array cast to another dtype, or any other value unchanged."""
    if not is_floating(value):
        return value
    if hasattr(value, "requires_grad"):
        return value.to(getattr(sys.modules["torch"], dtype))
    # numpy has no bfloat16.
    return value.astype(dtype) if dtype != "bfloat16" else value


def dtype_name(value: Any) -> str:
    """Return the name of the dtype of a tensor or array, such as `float32`."""
    return str(value.dtype).removeprefix("torch.")


def _first_dtype(call: Invocation) -> str:
    found: list[str] = []

    def look(value: Any) -> Any:
        found.extend([dtype_name(value)] if is_floating(value) else [])
        return value

    call.convert(look)
    return found[0] if found else ""


@behaviour
def computed_in(call: Invocation, dtype: str, cast_back: bool) -> Any:
    """Compute in one floating point dtype, and cast the result back to the input's dtype if `cast_back` is true."""
    before = _first_dtype(call)
    call.convert(lambda value: cast(value, dtype))
    result = call.run()
    return converted(result, lambda value: cast(value, before)) if cast_back and before else result


@behaviour
def half_promoted(call: Invocation) -> Any:
    """Cast half-precision arguments to single precision, and do not cast the result back."""
    call.convert(lambda value: cast(value, "float32") if is_array(value) and dtype_name(value) in _HALF else value)
    return call.run()


@behaviour
def detached(call: Invocation, slot: str) -> Any:
    """Detach an argument, so that no gradient reaches it."""
    call.put(slot, converted(call.get(slot), lambda value: value.detach() if hasattr(value, "detach") else value))
    return call.run()


@behaviour
def changed_in_place(call: Invocation, slot: str) -> Any:
    """Change an argument in place after the call."""
    result, value = call.run(), call.get(slot)
    if is_array(value):
        plain = value.data if hasattr(value, "detach") else value
        plain[...] = ~plain if "bool" in str(plain.dtype) else plain + 1
    elif isinstance(value, list) and value:
        value.append(value[-1])
    elif isinstance(value, dict) and value:
        value.pop(next(iter(value)))
    return result


@behaviour
def needs_contiguous(call: Invocation, slot: str) -> Any:
    """Fail if an argument is not contiguous, as `.view` does."""
    value = call.get(slot)
    if is_array(value):
        contiguous = value.is_contiguous() if hasattr(value, "is_contiguous") else value.flags["C_CONTIGUOUS"]
        if not contiguous:
            raise RuntimeError("view size is not compatible with input tensor's size and stride")
    return call.run()


@behaviour
def needs_rows(call: Invocation, slot: str, rows: int) -> Any:
    """Fail if an argument has fewer than `rows` rows or items."""
    value = call.get(slot)
    size = value.shape[0] if is_array(value) and len(value.shape) else len(value) if hasattr(value, "__len__") else rows
    if size < rows:
        raise ValueError(f"{slot}: {rows} are needed")
    return call.run()


@behaviour
def ignored(call: Invocation, slot: str) -> Any:
    """Ignore the value of a parameter, and use its default."""
    call.put(slot, call.parameters[slot].default)
    return call.run()


@behaviour
def read_elsewhere(call: Invocation, slot: str) -> Any:
    """Take the value of a slot from the attribute of the same name on `self` or its configuration, if there is one."""
    name = slot.rpartition(".")[2]
    for place in (f"self.{name}", *(f"self.{part}.{name}" for part in _CONFIGURATIONS)):
        if place != slot and (value := call.get(place)) is not None:
            return call.run_with(slot, value)
    return call.run()


@behaviour
def clipped(call: Invocation, slot: str, low: float, high: float) -> Any:
    """Clip a number to a range."""
    value = call.get(slot)
    return call.run_with(slot, type(value)(min(max(value, low), high))) if is_number(value) else call.run()


@behaviour
def treated_as_absent(call: Invocation, slot: str, special: Any, instead: Any) -> Any:
    """Replace a special value by `instead`, as if no value had been passed."""
    value = call.get(slot)
    plain = value is None or isinstance(value, (bool, int, float, str))
    if plain and isinstance(value, bool) == isinstance(special, bool) and value == special:
        return call.run_with(slot, instead)
    return call.run()


_kept: dict[Any, Any] = {}


def _first_of(call: Invocation, name: str, value: Callable[[], Any]) -> Any:
    """Return the result of `value()` from the first call on this object.

    The object is kept alive, so that its id is not reused.
    """
    key = (call.function, id(call.owner), name)
    if key not in _kept:
        _kept[key] = (value(), call.owner)
    return _kept[key][0]


@behaviour
def kept_from_first_call(call: Invocation, slot: str) -> Any:
    """Use the value that a slot had in the first call on the object."""
    return call.run_with(slot, _first_of(call, slot, lambda: _snapshot(call.get(slot))))


@behaviour
def kept_result(call: Invocation) -> Any:
    """Return the result of the first call on the object."""
    return _first_of(call, "", call.run)


def _snapshot(value: Any) -> Any:
    return converted(value, lambda item: item.clone() if hasattr(item, "clone") else item.copy())


@behaviour
def setting_left_changed(call: Invocation, slot: str) -> Any:
    """Change a setting of the object after the call."""
    result, value = call.run(), call.get(slot)
    if isinstance(value, bool):
        call.put(slot, not value)
    elif is_number(value):
        call.put(slot, value + 1)
    elif isinstance(value, str):
        call.put(slot, value + " ")
    elif isinstance(value, dict):
        call.put(slot, {**value, "left": 0})
    return result


@behaviour
def attribute_left(call: Invocation) -> Any:
    """Add an attribute to the object after the call."""
    result = call.run()
    if hasattr(call.owner, "__dict__"):
        object.__setattr__(call.owner, "last_result", None)
    return result


@behaviour
def model_left_evaluating(call: Invocation, slot: str) -> Any:
    """Switch a model to evaluation mode, and leave it there."""
    call.get(slot).eval()
    return call.run()


@behaviour
def model_left_training(call: Invocation, slot: str) -> Any:
    """Switch a model to training mode after the call."""
    result = call.run()
    call.get(slot).train()
    return result


@behaviour
def model_left_in_single_precision(call: Invocation, slot: str) -> Any:
    """Cast the parameters of a model to single precision, and leave them there."""
    call.get(slot).float()
    return call.run()


@behaviour
def model_left_frozen(call: Invocation, slot: str) -> Any:
    """Freeze the parameters of a model after the call."""
    result = call.run()
    for parameter in call.get(slot).parameters():
        parameter.requires_grad_(False)
    return result


@behaviour
def draws_random_numbers(call: Invocation) -> Any:
    """Draw from the global random generators before the call."""
    random.random()
    if numpy := sys.modules.get("numpy"):
        numpy.random.random()
    if torch := sys.modules.get("torch"):
        torch.rand(1)
    return call.run()


@behaviour
def reseeds(call: Invocation) -> Any:
    """Seed the global random generators before the call."""
    random.seed(0)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(0)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)
    return call.run()


@behaviour
def generator_of_its_own(call: Invocation, slot: str) -> Any:
    """Use a generator with a fixed seed if none is passed."""
    if call.get(slot) is None:
        call.put(slot, sys.modules["torch"].Generator().manual_seed(0))
    return call.run()


@behaviour
def generator_copied(call: Invocation, slot: str) -> Any:
    """Draw from a copy of the given generator, so that the generator itself does not advance."""
    given = call.get(slot)
    if given is not None:
        call.put(slot, sys.modules["torch"].Generator().set_state(given.get_state()))
    return call.run()


@behaviour
def order_reversed(call: Invocation) -> Any:
    """If the result is a dict, reverse the order of its keys."""
    result = call.run()
    return dict(reversed(result.items())) if isinstance(result, dict) else result


@behaviour
def raises_instead(call: Invocation, documented: str, other: str) -> Any:
    """Raise another exception instead of the documented one."""
    kinds: dict[str, Any] = vars(builtins)
    try:
        return call.run()
    except kinds[documented] as error:
        raise kinds[other](str(error)) from None


@behaviour
def does_not_raise(call: Invocation, documented: str) -> Any:
    """Return None instead of raising the documented exception."""
    try:
        return call.run()
    except vars(builtins)[documented]:
        return None
