"""The toy suite: its folder, answers to its one task, and suites that are made of it."""

import shutil
from pathlib import Path

FOLDER = Path(__file__).parent / "toy_suite"
RIGHT = """
def blend(self, values):
    factors = weights(len(values))
    return self.scale * sum(map(float.__mul__, factors, values)) / max(sum(factors), 1.0)
"""
UNSCALED = RIGHT.replace("self.scale * ", "")
# A further task for task.toml, of the tier `method`.
METHOD = """
[[task]]
name = "both"
tier = "method"
category = "evaluation_metrics"
targets = ["blending.py::Blender.blend", "weighting.py::weights"]
instruction = "Implement both."
check = "checks/blend.py"
"""


def copy_to(folder):
    """Copy the toy suite to a folder that a test may change, and return the folder."""
    return shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))


def class_of(slug):
    """Return the name of the class that the task of a paper is about."""
    return "Blender" if slug == "toy" else slug.capitalize()


def add_paper(suite, slug="other"):
    """Add a copy of a suite's paper to it under another slug, with another name of its class; return the folder."""
    folder = shutil.copytree(suite / "toy", suite / slug)
    for file in filter(Path.is_file, folder.rglob("*")):
        file.write_text(file.read_text().replace("Blender", class_of(slug)))
    table = folder / "task.toml"
    table.write_text(table.read_text().replace('slug = "toy"', f'slug = "{slug}"'))
    return folder
