"""Code from elsewhere: fetched once, verified, kept; and tasks that are set on it work like all others."""

import hashlib
import io
import os
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path
from typing import ClassVar

import pytest
from tests.http_server import Files, serving_files
from typer.testing import CliRunner

from lmrbench.cli import app
from lmrbench.errors import RecordError, SourceError, TaskError
from lmrbench.files import cache_folder, locked
from lmrbench.tasks.digests import audit_digest, grading_digest
from lmrbench.tasks.loading import load_suite
from lmrbench.tasks.model import Target
from lmrbench.tasks.sources.fetch import fetch
from lmrbench.tasks.sources.origin import Source, Tree, is_fetched, tree_folder
from lmrbench.tasks.workspace import workspace_files


class Cut(Files):
    """Files of a folder; ranges are honoured, and an answer is cut short where the server is told to."""

    cut_after: int | None = None
    asked: ClassVar[list[str | None]] = []

    def do_GET(self):  # noqa: N802
        place = self.translate_path(self.path)
        begin = self.headers.get("Range")
        Cut.asked.append(begin)
        if os.path.isdir(place):
            super().do_GET()
            return
        if not os.path.isfile(place):
            self.send_error(404)
            return
        with open(place, "rb") as file:
            data = file.read()
        start = int(begin.removeprefix("bytes=").rstrip("-")) if begin else 0
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        self.wfile.write(data[start:] if Cut.cut_after is None else data[start : start + Cut.cut_after])


@pytest.fixture(autouse=True)
def own_empty_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def site(tmp_path):
    """A folder that a local server gives out, and its address."""
    folder = tmp_path / "site"
    folder.mkdir()
    Cut.cut_after, Cut.asked = None, []
    with serving_files(folder, Cut) as address:
        yield folder, address


def sha256(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


def archive_of(folder, file):
    with tarfile.open(file, "w:gz") as archive:
        archive.add(folder, arcname="toy-1.0")
    return file


def pinned(**what):
    return Source.model_validate({"licence": "MIT", "imports": (), **what})


def source_of(address, file):
    return pinned(archive=f"{address}/{file.name}", sha256=sha256(file))


@pytest.fixture
def archived(site, toy_suite):
    """The toy's repository as an archive on the server."""
    folder, address = site
    return source_of(address, archive_of(toy_suite / "toy" / "repo", folder / "toy.tar.gz"))


@pytest.fixture
def suite(archived, paper):
    """The toy suite, set on the archive instead of on a repository of its own."""
    shutil.rmtree(paper / "repo")
    text = f'[source]\narchive = "{archived.archive}"\nsha256 = "{archived.sha256}"\nlicence = "MIT"\nimports = []\n\n'
    file = paper / "task.toml"
    file.write_text(file.read_text().replace("[[task]]", f"{text}[[task]]", 1))
    return paper.parent


def test_an_archive_is_fetched_once_and_read_only(archived):
    progress: list[tuple[int, int | None]] = []
    fetch(archived, lambda done, total: progress.append((done, total)))
    fetch(archived)

    folder = tree_folder(archived)
    assert (folder / "blending.py").is_file()
    assert progress[-1] == (progress[-1][0],) * 2
    assert progress[-1][0] > 0
    assert len(Cut.asked) == 1
    assert not any(path.stat().st_mode & 0o222 for path in (folder, *folder.rglob("*")))
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_another_file_under_the_same_address_is_refused_and_not_kept(archived, site):
    (site[0] / "toy.tar.gz").write_bytes(b"something else")

    with pytest.raises(SourceError, match="is not the file that was pinned: its SHA-256 is "):
        fetch(archived)
    assert not is_fetched(archived)
    assert not list((cache_folder() / "sources").rglob("*.part"))


def test_a_cut_connection_is_gone_on_from(archived):
    Cut.cut_after = 100
    with pytest.raises(SourceError, match="the connection ended after 100 of"):
        fetch(archived)
    assert not is_fetched(archived)

    Cut.cut_after = None
    fetch(archived)
    assert Cut.asked == [None, "bytes=100-"]
    assert is_fetched(archived)


def test_what_can_not_be_unpacked_leaves_nothing(site):
    folder, address = site
    with tarfile.open(folder / "bad.tar.gz", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("a/x.py"), io.BytesIO())
        archive.addfile(tarfile.TarInfo("../y.py"), io.BytesIO())
    source = source_of(address, folder / "bad.tar.gz")

    with pytest.raises(SourceError, match="is not a path inside the archive"):
        fetch(source)
    assert not is_fetched(source)
    assert not list((cache_folder() / "sources").rglob("tree-*"))


@pytest.mark.parametrize(("path", "said"), [("/gone.tar.gz", "404"), (None, "refused")])
def test_no_file_and_no_server_are_one_line(site, path, said):
    address = f"{site[1]}{path}" if path else "http://127.0.0.1:9/toy.tar.gz"
    source = pinned(archive=address, sha256="0" * 64)

    with pytest.raises(SourceError, match=said) as caught:
        fetch(source)
    assert "\n" not in str(caught.value)


def test_two_fetches_at_once(archived):
    with (
        locked(cache_folder() / "sources" / f".{archived.key}"),
        pytest.raises(RecordError, match="another lmrbench"),
    ):
        fetch(archived)


def test_a_commit(monkeypatch, tmp_path, toy_suite):
    work = shutil.copytree(toy_suite / "toy" / "repo", tmp_path / "work")

    def git(*arguments):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        command = ["git", "-C", str(work), *identity, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "one")
    commit = git("rev-parse", "HEAD")
    (work / "blending.py").write_text("later = True\n")
    git("commit", "--quiet", "-am", "two")
    git("config", "uploadpack.allowAnySHA1InWant", "true")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.file://{work}.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "https://example.org/toy")

    source = pinned(git="https://example.org/toy", commit=commit)
    fetch(source)
    assert b"class Blender" in (tree_folder(source) / "blending.py").read_bytes()

    with pytest.raises(SourceError, match=r"example\.org/toy at 000000000000"):
        fetch(pinned(git="https://example.org/toy", commit="0" * 40))


def test_a_package_comes_from_the_index_that_pip_is_configured_for(monkeypatch, site):
    folder, address = site
    wheel = folder / "toy_blend-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("toy_blend/__init__.py", "")
        archive.writestr("toy_blend-1.0.dist-info/METADATA", "")
    page = folder / "simple" / "toy-blend"
    page.mkdir(parents=True)
    link = f'<a href="/{wheel.name}">{wheel.name}</a>'
    (page / "index.html").write_text(f"<html><body>{link}</body></html>")
    monkeypatch.setenv("PIP_INDEX_URL", f"{address}/simple")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    wanted = {"package": "toy-blend==1.0", "file": wheel.name}

    source = pinned(sha256=sha256(wheel), **wanted)
    fetch(source)
    assert (tree_folder(source) / "toy_blend" / "__init__.py").is_file()

    yanked = link.replace("<a ", '<a data-yanked="broken" ')
    (page / "index.html").write_text(f"<html><body>{yanked}</body></html>")
    with pytest.raises(SourceError, match="was yanked from the index: broken"):
        fetch(pinned(sha256="1" * 64, **wanted))
    with pytest.raises(SourceError, match="no index in pip's configuration has the file other"):
        fetch(pinned(package="other==2.0", file="other-2.0.whl", sha256="2" * 64))


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"package": "a==1"}, "expected package, file and sha256"),
        ({"git": "https://example.org/a", "commit": "0" * 40, "sha256": "0" * 64}, "expected package, file and sha256"),
        ({"archive": "https://example.org/a.zip", "sha256": "short"}, "sha256"),
        ({"package": "a>=1", "file": "a-1.whl", "sha256": "0" * 64}, "package"),
    ],
)
def test_a_source_that_pins_nothing_is_refused(table, said):
    with pytest.raises(ValueError, match=said):
        pinned(**table)


@pytest.mark.sandbox
def test_tasks_on_fetched_code_are_listed_before_and_work_after(suite):
    runner = CliRunner()
    [task] = load_suite(suite)
    before = grading_digest(task)
    with pytest.raises(TaskError, match=rf"toy: .* is missing; run lmrbench setup fetch --suite {suite} toy"):
        workspace_files(task, "full")
    assert "toy/blend" in runner.invoke(app, ["list", "--suite", str(suite)]).output

    done = runner.invoke(app, ["setup", "fetch", "--suite", str(suite)])
    assert done.exit_code == 0, done.output
    assert "toy.tar.gz, 2 files" in done.output

    [task] = load_suite(suite)
    assert isinstance(task.files.repository, Tree)
    assert grading_digest(task) == before
    assert b"raise NotImplementedError" in workspace_files(task, "full")["repo/blending.py"]
    arguments = ["grade", "--golden", "--mask", "--rewrites", "--wrong", "--suite", str(suite), "--workers", "1"]
    graded = runner.invoke(app, [*arguments, "--out", str(suite.parent / "run")])
    assert graded.exit_code == 0, graded.output
    assert "is in the cache" in runner.invoke(app, ["setup", "fetch", "--suite", str(suite)]).output


def test_twins_on_fetched_code_are_listed_before_and_edit_it_after(suite):
    file = suite / "toy" / "twins" / "blend_twin.toml"
    file.parent.mkdir()
    last = (suite / "toy" / "paper.md").read_text().strip().splitlines()[-1]
    line = "        return self.scale * sum(w * v for w, v in zip(factors, values, strict=True)) / sum(factors)"
    repo = f"[[repo]]\nfile = 'blending.py'\nold = '{line}'\nnew = '{line.replace('scale *', 'scale +')}'\n"
    file.write_text(f"of = 'blend'\nwhy = 'Why.'\n[[summary]]\nold = \"\"\"{last}\"\"\"\nnew = 'Plus.'\n{repo}")
    original, twin = load_suite(suite)
    before = [grading_digest(task) for task in (original, twin)]
    audited = audit_digest(twin)
    assert before[0] != before[1]
    with pytest.raises(TaskError, match=r"toy: .* is missing; run lmrbench setup fetch"):
        workspace_files(twin, "full")

    runner = CliRunner()
    assert "toy/blend_twin" in runner.invoke(app, ["list", "--tier", "twin", "--suite", str(suite)]).output
    assert runner.invoke(app, ["setup", "fetch", "--suite", str(suite)]).exit_code == 0

    original, twin = load_suite(suite)
    assert [grading_digest(task) for task in (original, twin)] == before
    assert audit_digest(twin) == audited
    changed = [path for path, data in twin.files.repository.items() if data != original.files.repository[path]]
    assert changed == ["blending.py"]
    assert "self.scale * sum" in twin.files.wrong["the_original"]
    assert list(twin.files.wrong) == ["the_original", *original.files.rewrites]
    file.write_text(file.read_text().replace(line, line + "  # absent", 1))
    with pytest.raises(TaskError, match=r"blend_twin.toml: repo: blending.py: the old lines must occur"):
        load_suite(suite)


def test_globs_and_an_overlay_decide_which_files_count(archived, suite):
    fetch(archived)
    source = archived.model_copy(update={"drop": ("weigh*",)})
    tree = Tree(Path("toy"), source, {"experiment.py": b"own", "blending.py": b"laid over"})

    assert dict(tree) == {"blending.py": b"laid over", "experiment.py": b"own"}
    assert "weighting.py" not in tree
    assert tree.digest != Tree(Path("toy"), source, {}).digest != Tree(Path("toy"), archived, {}).digest


def test_copies_of_what_is_asked_for_have_no_bodies_for_anybody(archived, suite):
    fetch(archived)
    copies = (Target.parse("weighting.py::weights"),)
    tree = Tree(Path("toy"), archived.model_copy(update={"also_mask": copies}), {})

    assert b"raise NotImplementedError" in tree["weighting.py"]
    assert tree.digest != Tree(Path("toy"), archived, {}).digest
    missing = archived.model_copy(update={"also_mask": (Target.parse("weighting.py::absent"),)})
    with pytest.raises(TaskError, match=r"toy: source.also_mask: weighting.py: .*absent"):
        Tree(Path("toy"), missing, {})["weighting.py"]
