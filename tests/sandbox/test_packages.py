"""Packages as Debian installs them: without a RECORD, and with links to the system's libraries."""

import subprocess

import pytest

from lmrbench.errors import SandboxError
from lmrbench.sandbox.backends import bubblewrap
from lmrbench.sandbox.backends.bubblewrap import BubblewrapSandbox, Layout
from lmrbench.sandbox.packages import importable_paths, versions


@pytest.fixture
def folder(tmp_path):
    """A folder of packages, among them some that no test asks for."""
    for path in ("other.py", "blender.py", "blend/__init__.py", "__pycache__/blend.pyc"):
        file = tmp_path / path
        file.parent.mkdir(exist_ok=True)
        file.write_text("VALUE = 4\n")
    install(tmp_path, "other-1.0.dist-info/METADATA", "Name: other\nVersion: 1.0\n")
    install(tmp_path, "blender-1.0.dist-info/METADATA", "Name: blender\nVersion: 1.0\n")
    return tmp_path


def install(folder, path, text):
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def shown(folder, *imports):
    """What a sandbox shows of a folder; the worker's own needs come from elsewhere."""
    return {name for name, path in importable_paths(imports, folder).items() if path.is_relative_to(folder)}


@pytest.mark.parametrize("metadata", ["Blend-2.1.dist-info/METADATA", "blend-2.1.egg-info/PKG-INFO", "blend.egg-info"])
def test_without_a_record_a_distribution_holds_the_module_of_its_name(folder, metadata):
    install(folder, metadata, "Name: Blend\nVersion: 2.1\n")

    assert shown(folder, "blend") == {"blend", metadata.partition("/")[0]}
    assert versions(["blend"], folder)["Blend"] == "2.1"


def test_without_a_record_a_distribution_holds_what_its_top_level_txt_names(folder):
    install(folder, "py_blend-2.1.dist-info/METADATA", "Name: py-blend\nVersion: 2.1\n")
    install(folder, "py_blend-2.1.dist-info/top_level.txt", "_blend\nblend\n")
    (folder / "_blend.abi3.so").touch()

    assert shown(folder, "blend") == {"_blend.abi3.so", "blend", "py_blend-2.1.dist-info"}
    assert shown(folder, "_blend") == shown(folder, "blend")


def test_without_a_record_a_distribution_comes_with_what_it_requires(folder):
    install(folder, "blend-2.1.dist-info/METADATA", "Name: blend\nVersion: 2.1\nRequires-Dist: other\n")

    assert {"blend", "other.py"} <= shown(folder, "blend")
    assert "blender.py" not in shown(folder, "blend")


def test_what_an_interrupted_installation_left_is_no_distribution(folder):
    (folder / "blend-2.1.dist-info").mkdir()

    with pytest.raises(SandboxError, match="blend, which is not in the environment"):
        importable_paths(["blend"], folder)


@pytest.mark.sandbox
def test_links_of_a_package_to_the_systems_libraries_hold_in_a_sandbox(tmp_path, monkeypatch):
    system = tmp_path / "system"
    packages = system / "python3" / "dist-packages"
    for name in ("blend", "other"):
        install(packages, f"{name}-2.1.dist-info/METADATA", f"Name: {name}\nVersion: 2.1\n")
        install(packages, f"{name}/__init__.py", "")
    (system / "libblend").write_text("4")
    (packages / "blend" / "lib").symlink_to("../../../libblend")
    monkeypatch.setattr(bubblewrap, "LIBRARY_FOLDERS", (*bubblewrap.LIBRARY_FOLDERS, str(system)))
    code = "import blend, os; print(open(blend.__path__[0] + '/lib').read(), os.path.exists(os.path.realpath("
    code += "blend.__path__[0]) + '/../other'))"
    # Without the private folder /tmp, in which the test's own folder may lie.
    layout = Layout(["blend"], [], ["/dev/shm"], environment=packages)

    command = BubblewrapSandbox().command(["-c", code], layout, {"PYTHONPATH": "/packages"}, None)
    seen = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert seen.split() == ["4", "False"]
