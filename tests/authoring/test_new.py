"""`lmrbench task new` makes a folder that grades, from unchanged repositories."""

import hashlib
import json
import os
import runpy
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import pytest
from tests.http_server import serving_files
from tests.running import lmrbench

from lmrbench.errors import SourceError, UsageError
from lmrbench.tasks.sources.fetch import fetch
from lmrbench.tasks.sources.pin import licence_of, pinned

pytestmark = pytest.mark.sandbox

LOSS = '''
"""A loss and a report."""
import random

import torch

SCALE = 3.0


class Loss:
    def __init__(self, margin):
        self.margin = margin

    def forward(self, scores, labels, weight=0.5):
        """Of shape ()."""
        chosen = scores.gather(1, labels.unsqueeze(1))
        return weight * SCALE * self.hinge(scores - chosen).mean()

    def hinge(self, differences):
        return torch.relu(self.margin + differences).sum(dim=1) - self.margin
'''
PLAIN_LOSS = """
import random


class Loss:
    def __init__(self, margin):
        self.margin = margin

    def forward(self, scores):
        return sum(max(0.0, self.margin - score) for score in scores)
"""
OTHERS = """

def noisy(count):
    return [random.random() for _ in range(count)]


def opaque(model):
    return model(1)


def shared(left, right):
    return len(set(left) & set(right))


def never():
    return 0
"""
SCRIPT = """
import torch
from loss import Loss, noisy, opaque, shared


def run(seed=0):
    generator = torch.Generator().manual_seed(seed)
    losses = []
    for classes in (3, 5):
        scores = torch.randn(4, classes, generator=generator, requires_grad=True)
        labels = torch.randint(classes, (4,), generator=generator)
        losses.append(Loss(0.7).forward(scores, labels))
    return {"loss": float(sum(losses))}


if __name__ == "__main__":
    print(run())
"""
PLAIN_SCRIPT = """
from random import Random

from loss import Loss, noisy, opaque, shared


def run(seed=0):
    generator = Random(seed)
    loss = Loss(0.7).forward([generator.random() for _ in range(5)])
    shared("a cat sat on a mat".split(), ["cat", "on"])
    return {"loss": loss, "noise": len(noisy(2)), "opaque": opaque(lambda x: x + seed)}


if __name__ == "__main__":
    print(run())
"""
PAPER = "1 Introduction\nSome text.\n2\nMethod\n2.1 Setting\nMore text.\nReferences\n3 Not a Section\n"
PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj\n"
    b"4 0 obj<</Length 47>>stream\nBT /F 12 Tf 20 200 Td (1 Introduction) Tj ET    \nendstream endobj\n"
    b"5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
)


def written(folder, module, script):
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text("secret")
    (folder / "loss.py").write_text(module + OTHERS)
    (folder / "experiment.py").write_text(script)
    (folder / "demo.ipynb").write_text(json.dumps({"cells": []}))
    (folder / "data.csv").write_bytes(b"1,2\n" * 400_000)
    return folder


@pytest.fixture
def repository(tmp_path):
    return written(tmp_path / "repository", LOSS, SCRIPT)


@pytest.fixture
def plain(tmp_path):
    """Without torch, which takes seconds to load each time."""
    return written(tmp_path / "repository", PLAIN_LOSS, PLAIN_SCRIPT)


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder that a local server gives out, its address, and a cache that is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "site"
    folder.mkdir()
    with serving_files(folder) as address:
        yield folder, address


def new(repository, target, *options):
    return run(repository, target, "--to", repository.parent / "suite", *options)


def run(*arguments):
    return lmrbench("task", "new", "--slug", "mine", *arguments)


@pytest.mark.torch
def test_a_folder_that_grades_and_a_list_of_what_is_left(repository, tmp_path):
    paper = tmp_path / "paper.txt"
    paper.write_text(PAPER)

    result = new(repository, "loss.py::Loss.forward", "--paper", paper)

    assert result.returncode == 0, result.stderr
    folder = tmp_path / "suite" / "mine"
    copied = sorted(path.name for path in (folder / "repo").iterdir())
    assert copied == ["experiment.py", "loss.py"]
    assert "left out demo.ipynb: a notebook" in result.stdout
    assert "left out data.csv: 1 MB of data" in result.stdout
    assert "calls of the target recorded during python experiment.py: 2" in result.stdout
    assert "raise NotImplementedError" in result.stdout
    assert "weight was always 0.5: add other values" in result.stdout
    assert "the target reads the module's globals SCALE" in result.stdout
    assert "too few rewrites: 0; the minimum is 3" in result.stdout
    headings = [line for line in (folder / "paper.md").read_text().splitlines() if line.startswith("## ")]
    assert headings == ["## 1 Introduction", "## 2 Method", "## 2.1 Setting"]

    grade = [sys.executable, "-m", "lmrbench", "grade", "--golden", "--mask", "--suite", tmp_path / "suite"]
    graded = subprocess.run([*grade, "--json", "--out", tmp_path / "run"], capture_output=True, text=True, check=True)
    by_system = {item["system"]: item for item in json.loads(graded.stdout)["grades"]}
    assert by_system["golden"]["correct"]
    assert not by_system["mask"]["correct"]
    assert [case["name"] for case in by_system["golden"]["cases"]] == ["recorded 0", "recorded 1", "experiment"]


def test_what_is_there_is_kept(plain, tmp_path):
    new(plain, "loss.py::Loss.forward")
    digest = tmp_path / "suite" / "mine" / "paper.md"
    digest.write_text("My digest.")

    result = new(plain, "loss.py::Loss.forward")

    assert result.returncode == 0, result.stderr
    assert digest.read_text() == "My digest."
    assert result.stdout.count("kept as it is") == 4


def test_arguments_that_are_no_data_leave_the_experiment_as_the_check(plain, tmp_path):
    result = new(plain, "loss.py::opaque")

    assert result.returncode == 0, result.stderr
    assert "the target's argument model, of type function, is not plain data" in result.stdout
    assert "experiment" in (tmp_path / "suite" / "mine" / "checks" / "opaque.py").read_text()


def test_words_are_drawn_anew_and_options_are_not(plain, tmp_path):
    new(plain, "loss.py::shared")

    file = tmp_path / "suite" / "mine" / "checks" / "shared.py"
    assert "torch" not in file.read_text()
    check = runpy.run_path(str(file))
    drawn = [next(iter(check["cases"](seed)))["arguments"] for seed in range(5)]
    assert len({tuple(arguments["left"]) for arguments in drawn}) == 5
    assert all(len(arguments["left"]) == 6 for arguments in drawn)
    assert all(set(arguments["left"]) <= {"a", "cat", "sat", "on", "mat"} for arguments in drawn)
    assert all(arguments["right"] == ["cat", "on"] for arguments in drawn)


def test_random_draws_are_noticed(plain):
    assert "the target draws random numbers" in new(plain, "loss.py::noisy").stdout


def test_a_published_source_is_pinned_and_scripts_beside_it_do_not_stay(plain, site, tmp_path):
    folder, address = site
    archive = folder / "loss.tar.gz"
    with tarfile.open(archive, "w:gz") as file:
        file.add(plain / "loss.py", "loss-1.0/loss.py")
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    suite = tmp_path / "suite"
    arguments = ["--source", f"{address}/loss.tar.gz", "loss.py::shared", "--to", suite]

    result = run(*arguments, "--with", plain / "experiment.py")

    assert result.returncode == 0, result.stderr
    assert "calls of the target recorded during python experiment.py: 1" in result.stdout
    written = sorted(path.relative_to(suite).as_posix() for path in suite.rglob("*") if path.is_file())
    assert written == ["mine/checks/shared.py", "mine/paper.md", "mine/task.toml"]
    source = tomllib.loads((suite / "mine" / "task.toml").read_text())["source"]
    assert source == {"archive": f"{address}/loss.tar.gz", "sha256": digest, "licence": "TODO", "imports": []}
    assert "too few rewrites: 0; the minimum is 3" in result.stdout

    archive.unlink()
    again = run(*arguments, "--with", plain / "experiment.py")
    assert again.returncode == 0, again.stderr
    assert again.stdout.count("kept as it is") == 3


def test_a_version_is_pinned_to_the_file_that_runs_everywhere(site, monkeypatch):
    folder, address = site
    page = folder / "simple" / "toy-blend"
    page.mkdir(parents=True)
    names = ["toy_blend-1.0-cp311-cp311-linux_x86_64.whl", "toy_blend-1.0.tar.gz", "toy_blend-1.0-py3-none-any.whl"]
    names += ["toy_blend-2.0-py3-none-any.whl", "toy_blend-3.0-cp311-cp311-linux_x86_64.whl"]
    for name in names:
        with zipfile.ZipFile(folder / name, "w") as archive:
            archive.writestr("toy_blend/__init__.py", name)
            archive.writestr("toy_blend-1.0.dist-info/METADATA", "Classifier: License :: OSI Approved :: MIT License\n")
    links = "".join(f'<a href="/{name}">{name}</a>' for name in names)
    (page / "index.html").write_text(f"<html><body>{links}</body></html>")
    monkeypatch.setenv("PIP_INDEX_URL", f"{address}/simple")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)

    source = pinned("Toy.Blend==1.0")
    fetch(source)

    assert source.file == "toy_blend-1.0-py3-none-any.whl"
    assert source.sha256 == hashlib.sha256((folder / source.file).read_bytes()).hexdigest()
    assert licence_of(source) == "MIT License"
    with pytest.raises(SourceError, match=r"toy-blend==3\.0: .* a platform-independent wheel or a source distribution"):
        pinned("toy-blend==3.0")


def test_a_commit_needs_all_its_digits():
    assert pinned(f"https://example.org/a.git@{'0' * 40}").commit == "0" * 40
    with pytest.raises(UsageError, match="ADDRESS@COMMIT with all 40 digits"):
        pinned("https://example.org/a.git@main")


@pytest.mark.parametrize(
    ("target", "options", "words"),
    [
        ("loss.py::noisy", ("--source", "rank-bm25"), "expected only TARGET with --source"),
        ("loss.py::noisy", ("--with", "missing.py"), "--with missing.py: no such file or folder"),
        ("loss.py::noisy", ("--with", __file__, "--with", "repository/loss.py"), "already has a file loss.py"),
        ("loss.py::Loss.forwrd", (), "no such function; similar: Loss.forward"),
        ("los.py::Loss.forward", (), "there is no file"),
        ("loss.py::never", (), "never calls loss.py::never"),
        ("loss.py::Loss.forward", ("--command", "python missing.py"), "failed with exit code 2"),
        ("loss.py::Loss.forward", ("--command", "no-such-program"), "can't be started"),
        ("loss.py::Loss.forward", ("--slug", "My Paper"), "--slug My Paper: not a valid name"),
        ("loss.py::Loss.forward", ("--paper", "missing.txt"), "missing.txt"),
    ],
)
def test_what_can_not_be_done_is_one_line(plain, target, options, words, monkeypatch):
    monkeypatch.chdir(plain.parent)

    result = new(plain, target, *options)

    assert result.returncode == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


def test_the_outline_of_a_pdf(tmp_path):
    from lmrbench.authoring.new.drafting import outline, read_paper

    file = tmp_path / "paper.pdf"
    file.write_bytes(PDF)

    assert outline(read_paper(file)) == ["1 Introduction"]
