"""Papers whose requirements the installation does not meet: the requirements are named, installed once, and used."""

import json
import os
import zipfile

import pytest
from typer.testing import CliRunner

from lmrbench.cli import app
from lmrbench.sandbox.venvs import environment_folder, environment_of, is_built, unmet_requirements

SEES_VERSION = """
from importlib.metadata import version

import blend_base


def observe_version():
    return {"version": version("blend_base"), "value": blend_base.VALUE}
"""


def write_wheel(folder, version, needs=()):
    """A package of one module, which says its version."""
    folder.mkdir(exist_ok=True)
    name = f"blend_base-{version}"
    metadata = [
        f"Metadata-Version: 2.1\nName: blend_base\nVersion: {version}\n",
        *(f"Requires-Dist: {x}\n" for x in needs),
    ]
    with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl", "w") as wheel:
        wheel.writestr("blend_base.py", f"VALUE = {version!r}\n")
        wheel.writestr(f"{name}.dist-info/METADATA", "".join(metadata))
        wheel.writestr(
            f"{name}.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(
            f"{name}.dist-info/RECORD", f"blend_base.py,,\n{name}.dist-info/METADATA,,\n{name}.dist-info/WHEEL,,\n"
        )


@pytest.fixture
def links(monkeypatch, tmp_path):
    """The folder that pip takes packages from, and nowhere else."""
    environment_of.cache_clear()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))
    return tmp_path / "links"


def requiring(suite, *requirements):
    """Make the repository of a suite use a package that its paper requires."""
    entry = suite / "toy" / "task.toml"
    entry.write_text(entry.read_text().replace("[[task]]", f"requirements = {json.dumps(requirements)}\n\n[[task]]", 1))
    for file in (suite / "toy" / "repo" / "blending.py", suite / "toy" / "checks" / "blend.py"):
        file.write_text(file.read_text() + SEES_VERSION)
    check = suite / "toy" / "checks" / "blend.py"
    check.write_text(
        check.read_text() + "\n\nchosen = observe\ndef observe(case):\n    return chosen(case) | observe_version()\n"
    )


def run(*arguments):
    return CliRunner().invoke(app, [str(word) for word in arguments])


def grade(suite, folder):
    return run("grade", "--golden", "--mask", "--suite", suite, "--workers", "1", "--out", folder)


@pytest.mark.sandbox
@pytest.mark.parametrize("sandbox", ["bubblewrap", "process"])
def test_a_check_runs_with_the_packages_of_its_papers_environment(links, suite, tmp_path, sandbox):
    write_wheel(links, "2.0")
    write_wheel(links, "3.0")
    requiring(suite, "blend_base<3")
    before = grade(suite, tmp_path / "run")
    assert (
        "blend_base<3 is needed but not installed; build an environment that has it: lmrbench setup env build"
        in str(before.exception)
    )

    made = run("setup", "env", "build", "--suite", suite)
    assert made.exit_code == 0, made.output
    folder = environment_folder(("blend_base<3",))
    assert (folder / "requirements.lock").read_text().startswith("blend_base==2.0 --hash=sha256:")
    assert str(folder) in made.output

    graded = run(
        *("grade", "--golden", "--mask", "--suite", suite, "--workers", "1", "--sandbox", sandbox, "--out"),
        tmp_path / "run",
    )
    assert graded.exit_code == 0, graded.output
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert facts["environment"]["environments"]
    assert "blend_base" not in facts["environment"]


def test_what_can_not_be_installed_leaves_nothing_and_is_tried_again(links, suite, capfd):
    links.mkdir()
    requiring(suite, "blend_base>=4")
    failed = run("setup", "env", "build", "--suite", suite)
    assert failed.exit_code == 1
    assert "toy: pip could not install blend_base>=4" in failed.output
    assert "No matching distribution" in capfd.readouterr().err
    assert not environment_folder(("blend_base>=4",)).exists()

    write_wheel(links, "4.1")
    assert run("setup", "env", "build", "--suite", suite).exit_code == 0
    assert is_built(environment_folder(("blend_base>=4",)))


def test_an_environment_that_was_not_finished_is_made_anew(links, suite):
    write_wheel(links, "5.0")
    requiring(suite, "blend_base==5.0")
    folder = environment_folder(("blend_base==5.0",))
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / "left").write_text("of an interrupted build")

    assert run("setup", "env", "build", "--suite", suite).exit_code == 0
    assert not (folder / "lib" / "left").exists()
    assert is_built(folder)


def test_what_the_installation_meets_needs_no_environment(links, suite):
    requiring(suite, "packaging>=1", "no_such; python_version < '3'")
    assert (
        "the packages of this installation meet its requirements"
        in run("setup", "env", "build", "--suite", suite).output
    )


def test_what_a_requirement_requires_in_turn_must_be_met_too(links, tmp_path, monkeypatch):
    for name, text in (("outer", "Requires-Dist: inner>=2\nRequires-Dist: absent; extra == 'more'\n"), ("inner", "")):
        folder = tmp_path / "installed" / f"{name}-1.0.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{text}")
    monkeypatch.syspath_prepend(str(tmp_path / "installed"))

    assert unmet_requirements(["outer"]) == ["inner>=2 is needed but 1.0 is installed"]
    assert "absent" in unmet_requirements(["outer[more]"])[1]


@pytest.mark.parametrize(
    ("requirement", "said"),
    [
        ("blend base =", "'blend base =' is not a requirement in pip's syntax"),
        (
            "blend_base @ file:///home/blend_base",
            "is a URL; expected a package name, with a range of versions if needed",
        ),
    ],
)
def test_a_requirement_that_names_no_versions_of_a_package_is_refused(suite, requirement, said):
    requiring(suite, requirement)
    assert said in str(run("list", "--suite", suite).exception)
