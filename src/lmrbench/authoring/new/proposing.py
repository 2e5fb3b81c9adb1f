"""Propose a check from recorded calls. The check draws inputs of the same shapes and ranges from a seed.

The calls are recorded while a command runs a script. If arguments or results are not plain data (numbers, strings,
arrays, and lists and dicts of these), the check only runs this script. The proposal lists the decisions that are left
to the author.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from lmrbench.authoring.new.recording import Call, Value
from lmrbench.errors import TaskError
from lmrbench.sandbox.inside.encoding import Array
from lmrbench.source.functions import find
from lmrbench.tasks.model import Target

MOST_CASES = 8
MOST_CHOICES = 16
# Lists of at least this many strings are drawn from the recorded strings. Shorter lists may be options and are kept.
FEWEST_WORDS = 4

_DRAW = '''
def draw(spec, generator):
    """Draw a value of the same kind, shape and range as a recorded one."""
    kind, *rest = spec
    if kind == "value":
        return rest[0]
    if kind == "number":
        low, high = rest
        return low + (high - low) * generator.random()
    if kind == "words":
        words, length = rest
        return [words[index] for index in generator.integers(len(words), size=length)]
    if kind == "list":
        return [draw(item, generator) for item in rest[0]]
    if kind == "dict":
        return {key: draw(item, generator) for key, item in rest[0].items()}
    library, dtype, shape, low, high = rest
    if kind == "choice":
        values = np.array(low)[generator.integers(len(low), size=shape)]
    elif kind == "normal":
        values = low + high * generator.standard_normal(shape)
    elif kind == "between":
        values = low + (high - low) * generator.random(shape)
    else:
        values = generator.integers(low, high + 1, size=shape)
'''
_DRAWN_ARRAY = """\
    return np.asarray(values).astype(dtype)
"""
_DRAWN_TENSOR = """\
    if library == "torch":
        return torch.as_tensor(values).to(getattr(torch, dtype))
"""

_OBSERVE = """
def observe(case):
    if "arguments" not in case:
        return {experiment}
    from {module} import {name}

    arguments = copy.deepcopy(case["arguments"])
"""

_INSTANCE = """\
    # The constructor might set other attributes than the recorded ones, so it is not called.
    instance = {name}.__new__({name})
    vars(instance).update(arguments.pop("self"))
"""

_RETURN = """\
    result = {name}{path}({receiver}**arguments)
    return {{"result": result, "arguments": arguments}}
"""

_RETURN_GRADIENTS = """\
    leaves = [arguments[name].requires_grad_() for name in {gradients!r}]
    result = {name}{path}({receiver}**arguments)
    parts = result.values() if isinstance(result, dict) else result if isinstance(result, tuple) else (result,)
    total = sum(part.sum() for part in parts if isinstance(part, torch.Tensor) and part.requires_grad)
    gradients = torch.autograd.grad(total, leaves, allow_unused=True) if isinstance(total, torch.Tensor) else ()
    return {{"result": result, "arguments": arguments, "gradients": list(gradients)}}
"""

# The check that is proposed if the calls cannot be repeated and no script can be run.
_SKELETON = '''\
"""TODO: say what the cases vary."""


def cases(seed):
    # TODO: draw sizes, dtypes and settings from the seed, and yield them as plain data.
    yield {{"name": "TODO"}}


def observe(case):
    # TODO: build the target's arguments from the case, call the target, and return the results as plain data.
    from {module} import {name}

    raise NotImplementedError
'''


@dataclass(frozen=True)
class ProposedCheck:
    """A proposed check for a target.

    Attributes:
        check: The source code of the check.
        decisions: Sentences that each state a decision that is left to the author.
    """

    check: str
    decisions: tuple[str, ...]


def propose(target: Target, files: Mapping[str, bytes], calls: Sequence[Call], command: str) -> ProposedCheck:
    """Propose a check for a target.

    Args:
        target: The function to check.
        files: The contents of the repository's files, by path.
        calls: Recorded calls of the target.
        command: The command during which the calls were recorded.

    Returns:
        The proposed check. If the calls cannot be repeated, it only runs the script that `command` ran. If that script
        is not in the repository, the check is a skeleton without cases.
    """
    experiment = _experiment(files, command)
    decisions: list[str] = []
    specs: list[dict[str, Any]] = []
    obstacle = _obstacle(target, files, calls)
    if obstacle and experiment:
        decisions.append(f"the check only runs {command!r}, because {obstacle}: write cases that call the target")
    elif obstacle:
        decisions.append(f"the check has no cases, because {obstacle}: write cases that call the target")
    else:
        specs = _distinct(calls, decisions)
    if any(call.drawn for call in calls):
        decisions.append(
            "the target draws random numbers: state in the instruction which random draws it makes, and in which order"
        )
    if names := sorted({name for call in calls for name in call.globals}):
        decisions.append(
            f"the target reads the module's globals {', '.join(names)}: vary them if they act as parameters"
        )
    decisions.append(
        "add cases that the recorded calls do not cover: other branches, empty inputs, dtypes, ties, exceptions"
    )
    return ProposedCheck(_text(target, specs, experiment, calls), tuple(decisions))


def _experiment(files: Mapping[str, bytes], command: str) -> str:
    """Return an expression that runs the command's script, or "" if the script is not in the repository."""
    words = shlex.split(command)
    script = words[1] if len(words) > 1 and words[0].startswith("python") else ""
    if script not in files:
        return ""
    try:
        find(files[script], "run")
    except TaskError:
        return f"run_script({script!r}, {words[2:]!r})"
    return f'{{"experiment": importlib.import_module({_module(script)!r}).run(case["seed"])}}'


def _obstacle(target: Target, files: Mapping[str, bytes], calls: Sequence[Call]) -> str:
    """Return the reason why the target can't be called with the recorded arguments, or "" if it can."""
    function = find(files[target.file], target.qualname)
    arguments = function.node.args
    if arguments.vararg or arguments.kwarg or arguments.posonlyargs:
        return "some arguments of the target can't be passed by name"
    if any(not hasattr(parent, "bases") for parent in function.parents):
        return "the target is defined inside another function"
    for call in calls:
        if call.result.data is None:
            return f"the target's result, of type {call.result.type}, is not plain data"
        for name, value in call.arguments.items():
            if value.data is None:
                return f"the target's argument {name}, of type {value.type}, is not plain data"
            if hidden := [item for item in value.left_out if not item.startswith("_") or item == "_modules"]:
                return f"the attribute {hidden[0]} of {value.type} is not plain data"
    return ""


def _distinct(calls: Sequence[Call], decisions: list[str]) -> list[dict[str, Any]]:
    """Return the specifications of the arguments for each recorded combination of shapes.

    A specification tells the check's function `draw` the kind, shape and range of a value. Decisions that the author
    must still make about the arguments are appended to `decisions`.
    """
    numbers: dict[str, list[float]] = {}
    for call in calls:
        for name, value in call.arguments.items():
            if value.type == "float":
                numbers.setdefault(name, []).append(value.decoded())
    for name, values in numbers.items():
        if min(values) == max(values):
            decisions.append(f"{name} was always {values[0]:g}: add other values")
    found: dict[str, dict[str, Any]] = {}
    for call in calls:
        specs = {name: _spec(name, value, numbers) for name, value in call.arguments.items()}
        found.setdefault(json.dumps({name: _shape(spec) for name, spec in specs.items()}), specs)
    if len(found) > MOST_CASES:
        decisions.append(
            f"{len(found)} combinations of shapes were recorded; the check has only the first {MOST_CASES}"
        )
    return list(found.values())[:MOST_CASES]


def _spec(name: str, value: Value, numbers: Mapping[str, list[float]]) -> list[Any]:
    if name in numbers:
        low, high = min(numbers[name]), max(numbers[name])
        return ["number", low, high] if low < high else ["value", low]
    decoded = value.decoded()
    if name == "self":
        decoded = {key: item for key, item in decoded.items() if not key.startswith("_")}
    return _like(decoded)


def _like(value: Any) -> list[Any]:
    if isinstance(value, list) and len(value) >= FEWEST_WORDS and all(isinstance(item, str) for item in value):
        return ["words", sorted(set(value)), len(value)]
    if isinstance(value, list):
        return ["list", [_like(item) for item in value]]
    if isinstance(value, dict):
        return ["dict", {key: _like(item) for key, item in value.items()}]
    if not isinstance(value, Array):
        return ["value", value]
    values, head = value.values, [value.library, value.dtype, list(value.values.shape)]
    finite = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    if values.dtype.kind != "f":
        seen = np.unique(finite).tolist() or [0]
        if len(seen) <= MOST_CHOICES:
            # Such arrays may be labels or masks. Other values in the same range may be invalid for these.
            return ["choice", *head, seen, None]
        return ["integers", *head, int(finite.min()), int(finite.max())]
    least, most = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if least < 0 < most:
        return ["normal", *head, _rounded(float(finite.mean())), _rounded(float(finite.std()) or 1.0)]
    return ["between", *head, least, most if most > least else least + 1.0]


def _rounded(value: float) -> float:
    return float(f"{value:.3g}") if math.isfinite(value) else 0.0


def _shape(spec: list[Any]) -> Any:
    """Return the part of a specification that does not depend on the values of numbers and arrays."""
    kind, *rest = spec
    if kind == "list":
        return [_shape(item) for item in rest[0]]
    if kind == "dict":
        return {key: _shape(item) for key, item in rest[0].items()}
    if kind == "number":
        return kind
    if kind == "words":
        return [kind, rest[1]]
    return rest if kind == "value" else rest[:3]


def _holds_tensors(spec: object) -> bool:
    if isinstance(spec, dict):
        return any(map(_holds_tensors, spec.values()))
    if isinstance(spec, list):
        return (spec[:1] != ["value"] and spec[1:2] == ["torch"]) or any(map(_holds_tensors, spec))
    return False


def _text(target: Target, specs: Sequence[dict[str, Any]], experiment: str, calls: Sequence[Call]) -> str:
    if not specs and not experiment:
        return _SKELETON.format(module=_module(target.file), name=target.qualname.partition(".")[0])
    imports = ["copy"] if specs else []
    imports += ["importlib"] if "importlib" in experiment else []
    imports += ["contextlib", "io", "runpy", "sys"] if "run_script" in experiment else []
    literals = [f"    {spec!r}," for spec in specs]
    lines = [f'"""Call {target.qualname} with inputs like those of recorded calls."""', ""]
    lines += [f"import {name}" for name in sorted(imports)]
    lines += ["from math import inf, nan"] if re.search(r"\b(inf|nan)\b", "".join(literals)) else []
    if specs:
        tensors = any(map(_holds_tensors, specs))
        lines += ["", "import numpy as np", *(["import torch"] if tensors else []), ""]
        lines += ["# The specifications of the arguments, one for each recorded combination of shapes."]
        lines += ["CALLS = [", *literals, "]", "", _DRAW + (_DRAWN_TENSOR if tensors else "") + _DRAWN_ARRAY]
    lines += ["", "def cases(seed):"]
    if specs:
        lines += ["    generator = np.random.default_rng(seed)", "    for number, call in enumerate(CALLS):"]
        lines += ["        arguments = {name: draw(spec, generator) for name, spec in call.items()}"]
        lines += ['        yield {"name": f"recorded {number}", "arguments": arguments}']
    if experiment:
        lines += ['    yield {"name": "experiment", "seed": seed % 1000}']
    if "run_script" in experiment:
        lines += ["", "", "def run_script(path, arguments):", '    """Return the text that the script prints."""']
        lines += ["    sys.argv = [path, *arguments]", "    with contextlib.redirect_stdout(io.StringIO()) as printed:"]
        lines += ['        runpy.run_path(path, run_name="__main__")', '    return {"printed": printed.getvalue()}']
    lines += ["", _observe(target, experiment, calls) if specs else f"\ndef observe(case):\n    return {experiment}\n"]
    return "\n".join(lines)


def _observe(target: Target, experiment: str, calls: Sequence[Call]) -> str:
    name, *attributes = target.qualname.split(".")
    gradients = [key for key, value in calls[0].arguments.items() if value.gradient]
    instance = _INSTANCE if "self" in calls[0].arguments else ""
    return (_OBSERVE + instance + (_RETURN_GRADIENTS if gradients else _RETURN)).format(
        experiment=experiment or "None",
        module=_module(target.file),
        name=name,
        path="".join(f".{attribute}" for attribute in attributes),
        gradients=gradients,
        receiver="instance, " if instance else "",
    )


def _module(file: str) -> str:
    return ".".join(PurePosixPath(file).with_suffix("").parts)
