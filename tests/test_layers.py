"""Arrows point down: a room imports from the rooms below it and from no other."""

import ast
from pathlib import Path

import pytest

import lmrbench

PACKAGE = Path(lmrbench.__file__).parent
# From the bottom to the top; rooms of one line don't know each other. The single modules below all are one floor.
FLOORS = (
    ("errors", "files", "interrupt", "jsonl", "progress", "records", "resampling", "text", "version"),
    ("source",),
    ("tasks",),
    ("sandbox",),
    ("grading",),
    ("runs",),
    ("models",),
    ("authoring", "solving"),
    ("judging",),
    ("integrations",),
    ("report",),
    ("web",),
    ("cli",),
)
ROOMS = [room for floor in FLOORS for room in floor]
# They run inside of sandboxes, where nothing of lmrbench is there but what they bring along.
ALONE = ("sandbox/inside", "authoring/audit/inside", "integrations/lmr_bench/inside")


def imports(file):
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("lmrbench"):
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("lmrbench"))


def room_of(module):
    return module.split(".")[1]


def modules_of(room):
    return [PACKAGE / f"{room}.py"] if (PACKAGE / f"{room}.py").is_file() else sorted((PACKAGE / room).rglob("*.py"))


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_from_the_rooms_below_it_alone(room):
    floor = next(number for number, rooms in enumerate(FLOORS) if room in rooms)
    below = {room} | {name for rooms in FLOORS[:floor] for name in rooms}
    if not floor:
        below |= set(FLOORS[0])
    files = modules_of(room)
    assert files
    for file in files:
        upward = {name for name in imports(file) if room_of(name) not in below}
        assert not upward, f"{file.relative_to(PACKAGE)} imports {upward}"


def test_every_room_has_its_floor():
    rooms = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert rooms - {"__init__", "__main__"} == set(ROOMS)


@pytest.mark.parametrize("folder", ALONE)
def test_what_runs_inside_of_a_sandbox_imports_nothing_of_lmrbench(folder):
    for file in (PACKAGE / folder).glob("*.py"):
        # The text of that module is put before those that import it.
        assert not set(imports(file)) - {"lmrbench.source.reached"}, file
    assert not list(imports(PACKAGE / "source" / "reached.py"))
