"""What the base installation can do, and what is said of a package that it does not bring."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.solving.helpers import MODEL, lmrbench
from tests.solving.server import Reply, serving

from lmrbench.tasks.loading import load_suite, suite_folder
from lmrbench.tasks.workspace import third_party_imports

# Run before lmrbench, these lines make packages of extras absent.
ABSENT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {packages!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
"""
EXTRAS = (
    "torch",
    "matplotlib",
    "transformers",
    "docker",
    "ray",
    "verifiers",
    "pypi_simple",
    "sklearn",
    "rapidfuzz",
    "sentence_transformers",
)
# Modules that are imported for one extra alone.
OF_EXTRAS = ("sandbox.cluster", "sandbox.backends.docker", "sandbox.backends.images", "integrations.verifiers")


def without(packages, code, *arguments, cwd=None):
    program = ABSENT.format(packages=packages) + code
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, cwd=cwd)


def command(packages, *arguments, cwd=None):
    return without(packages, "from lmrbench.cli import main\nmain()", *map(str, arguments), cwd=cwd)


def test_every_module_but_those_of_an_extra_imports_without_the_extras():
    code = """
import importlib, pkgutil, lmrbench
from lmrbench.errors import UsageError
for item in pkgutil.walk_packages(lmrbench.__path__, "lmrbench."):
    if "__main__" in item.name or "inside" in item.name or "public_checks" in item.name:
        continue
    if item.name.endswith(tuple(sys.argv[1:])):
        continue
    try:
        importlib.import_module(item.name)
    except UsageError as error:
        print(item.name, error)
print("matplotlib" in sys.modules or "torch" in sys.modules)
"""
    result = without(EXTRAS, code, *OF_EXTRAS)
    assert result.returncode == 0, result.stderr
    *refused, loaded = result.stdout.splitlines()
    needs = "figures need matplotlib, which is not installed; pip install 'lmrbench[figures]'"
    assert {line.partition(" ")[2] for line in refused} == {needs}
    assert loaded == "False"


@pytest.mark.parametrize("arguments", [("--help",), ("run", "--help"), ("list",), ("show", "dpo/preference_loss")])
def test_commands_that_grade_nothing_need_no_extra(arguments):
    assert command(EXTRAS, *arguments).returncode == 0


@pytest.mark.sandbox
def test_grading_and_its_report_need_no_extra_and_figures_name_theirs(toy_suite, tmp_path):
    graded = command(EXTRAS, "grade", "--golden", "--suite", toy_suite, "--out", tmp_path / "run", cwd=tmp_path)
    assert graded.returncode == 0, graded.stderr
    assert command(EXTRAS, "report", tmp_path / "run", "--suite", toy_suite, cwd=tmp_path).returncode == 0
    for wanted in (("report", tmp_path / "run", "--html", "page.html"), ("site", tmp_path / "run", "--to", "site")):
        result = command(EXTRAS, *wanted, "--suite", toy_suite, cwd=tmp_path)
        assert result.returncode == 2
        assert result.stderr == (
            "lmrbench: figures need matplotlib, which is not installed; pip install 'lmrbench[figures]'\n"
        )


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "core",
            "the tasks of core import absent_here, which is not installed; pip install 'lmrbench[suite]'",
        ),
        ("mine", "toy/blend imports absent_here, which is not installed; pip install absent_here"),
    ],
)
def test_a_missing_package_is_named_before_a_model_is_asked(suite, tmp_path, name, said):
    (suite / "suite.toml").write_text(f'name = "{name}"\nversion = "1"\n')
    with (suite / "toy" / "repo" / "weighting.py").open("a") as file:
        file.write("\n\ndef elsewhere():\n    import absent_here\n")
    with serving(lambda request: Reply("no")) as (base, log):
        result = lmrbench(base, "run", "--model", MODEL, "--suite", suite, "--out", tmp_path / "run")
    assert (result.returncode, result.stderr) == (3, f"lmrbench: {said}\n")
    assert (log.small, log.requests) == (0, [])
    graded = lmrbench(base, "grade", "--golden", "--suite", suite, "--out", tmp_path / "graded")
    assert (graded.returncode, graded.stderr) == (3, f"lmrbench: {said}\n")


@pytest.mark.parametrize(("suite", "extra"), [("core", "suite"), ("real", "real"), ("live", "real")])
def test_an_extra_brings_what_the_tasks_of_its_suite_import(suite, extra):
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    listed = [*project["dependencies"], *project["optional-dependencies"][extra]]
    brought = {re.split(r"[^\w.-]", text)[0].replace("scikit-learn", "sklearn") for text in listed}
    tasks = load_suite(suite_folder(suite))
    # The others have environments of their own.
    imported = {name for task in tasks if not task.paper.requirements for name in third_party_imports(task)}
    assert imported <= brought
