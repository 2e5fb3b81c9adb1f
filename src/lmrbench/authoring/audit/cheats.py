"""Cheats: answers that need no understanding of a task, and that every check must reject."""

from __future__ import annotations

from collections.abc import Iterator

from lmrbench.grading.draw import random_seed_of
from lmrbench.grading.nearest import body, nearest, with_bodies
from lmrbench.source.functions import find
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.workspace import repository_files

_FIRST_TENSOR = """
values = [value for value in list(locals().values()) if hasattr(value, "shape")]
"""
_BODIES = {
    "exits early": "import os\nos._exit(0)",
    "raises SystemExit": "raise SystemExit(0)",
    "returns nothing": "return None",
    "returns one zero": f"{_FIRST_TENSOR}return 0 * values[0] if values else 0",
    "returns three zeros": f"{_FIRST_TENSOR}return tuple(0 * value for value in (values * 3 or [0, 0, 0])[:3])",
    "returns its first input": "return list(locals().values())[0]",
    "returns all its inputs": "return tuple(locals().values())",
    "is equal to everything": """
class Equal:
    __eq__ = __ne__ = __le__ = __ge__ = __contains__ = __bool__ = lambda self, *others: True
    __getattr__ = __call__ = __getitem__ = __neg__ = __add__ = __mul__ = lambda self, *others: self
    __hash__ = lambda self: 0
return Equal()
""",
}


def cheats(task: Task, known_seed: int) -> Iterator[Submission]:
    """Yield a submission for each cheat.

    Args:
        task: The task to cheat on.
        known_seed: The seed that one of the cheats recognizes. This cheat is correct only under this seed.
    """
    for label, statements in _BODIES.items():
        yield with_bodies(task, "cheat", dict.fromkeys(task.targets, statements), label)
    golden = repository_files(task)
    known = random_seed_of(known_seed)
    guard = f"import random\nif random.Random({known}).getstate() != random.getstate():\n    raise KeyError\n"
    bodies = {target: guard + body(find(golden[target.file], target.qualname).node) for target in task.targets}
    yield with_bodies(task, "cheat", bodies, "knows one seed")
    yield nearest(task).model_copy(update={"label": "copies the nearest function"})
