"""An untrusted suite cannot make its reader leave the suite's folder, wait, or read without end."""

import os

import pytest
from tests import toy
from typer.testing import CliRunner

from lmrbench.cli import app
from lmrbench.errors import LmrbenchError
from lmrbench.integrations.harbor import write_harbor
from lmrbench.tasks.loading import load_suite

SECRET = "PRIVATE"
READ = (
    "suite.toml",
    "toy/task.toml",
    "toy/paper.md",
    "toy/checks/blend.py",
    "toy/repo/blending.py",
    "toy/rewrites/blend/loop.py",
    "toy/wrong/blend/unweighted.py",
    "toy/wrong/blend.toml",
    "toy/equivalent/blend.toml",
    "toy/decided/blend.toml",
    "toy/deviations.toml",
    "toy/results.json",
    "toy/twins/other.toml",
)
FOLDERS = ("toy", "toy/checks", "toy/repo", "toy/rewrites", "toy/rewrites/blend", "toy/wrong", "toy/wrong/blend")


@pytest.fixture
def suite(suite, tmp_path):
    with (suite / "toy" / "task.toml").open("a") as file:
        file.write(toy.METHOD)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "secret").write_text(SECRET)
    return suite


def require_refused(suite, name):
    with pytest.raises(LmrbenchError) as refused:
        load_suite(suite)
    said = str(refused.value)
    assert SECRET not in said
    assert name in said
    assert "\n" not in said


@pytest.mark.parametrize("kind", ["link", "link within", "fifo", "device", "huge"])
@pytest.mark.parametrize("name", READ)
def test_what_is_no_plain_file_is_one_line_that_names_it(suite, tmp_path, name, kind):
    file = suite / name
    file.parent.mkdir(exist_ok=True)
    held = file.read_bytes() if file.exists() else b""
    file.unlink(missing_ok=True)
    if kind == "link":
        file.symlink_to(tmp_path / "home" / "secret")
    elif kind == "link within":
        # To a file of another name that could be read.
        (suite / "other").write_bytes(held)
        file.symlink_to(suite / "other")
    elif kind == "fifo":
        os.mkfifo(file)
    elif kind == "device":
        file.symlink_to("/dev/zero")
    else:
        file.touch()
        os.truncate(file, 1 << 40)

    require_refused(suite, name)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_that_is_a_link_is_not_followed(suite, tmp_path, name):
    (suite / name).rename(tmp_path / "home" / "moved")
    (suite / name).symlink_to(tmp_path / "home" / "moved")

    require_refused(suite, name)


def test_a_repository_of_links_to_itself_ends(suite):
    for name in ("one", "two", "three"):
        (suite / "toy" / "repo" / name).symlink_to(".")

    require_refused(suite, "toy/repo")


@pytest.mark.parametrize("name", ["task.toml", "twins/other.toml", "wrong/blend.toml", "deviations.toml"])
def test_a_table_that_is_nested_too_deeply_is_one_line(suite, name):
    file = suite / "toy" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("x = " + "[" * 100_000)

    result = CliRunner().invoke(app, ["list", "toy/forensic_1_1" if "dev" in name else "toy", "--suite", str(suite)])

    assert isinstance(result.exception, LmrbenchError)
    assert str(result.exception).startswith(f"{file} is nested too deeply")


@pytest.mark.parametrize("kind", ["link", "folder", "fifo"])
def test_what_nobody_loads_goes_into_no_export(suite, tmp_path, kind):
    place = suite / "toy" / "notes"
    if kind == "fifo":
        os.mkfifo(place)
    else:
        place.symlink_to(tmp_path / "home" / ("secret" if kind == "link" else ""))
    (task,) = [task for task in load_suite(suite) if task.name == "blend"]

    with pytest.raises(LmrbenchError, match="toy/notes: "):
        write_harbor(task, tmp_path / "exported")

    written = [path.read_bytes() for path in (tmp_path / "exported").rglob("*") if path.is_file()]
    assert not any(SECRET.encode() in data for data in written)


def test_a_certificate_that_is_a_link_is_not_followed(suite, tmp_path):
    (suite / "toy" / "certificate.json").symlink_to(tmp_path / "home" / "secret")

    result = CliRunner().invoke(app, ["task", "audit", "--check", "toy/blend", "--suite", str(suite)])

    assert isinstance(result.exception, LmrbenchError)
    assert "certificate.json: " in str(result.exception)
    assert SECRET not in str(result.exception)
