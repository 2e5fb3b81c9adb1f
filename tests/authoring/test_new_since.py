"""`lmrbench task new --since` lists what is new in a package, by the syntax of its files alone."""

import json
import os
import tomllib
import zipfile

import pytest
from tests.http_server import Files, serving_files
from tests.running import lmrbench

from lmrbench.authoring.listing.citations import papers_in

OLD_LOSS = '''
def blend(left, right, share):
    """Of shape ()."""
    mixed = share * left + (1 - share) * right
    total = sum([mixed, left])
    scaled = total / 2
    return scaled


def clip(value, least, most):
    if value < least:
        return least
    return min(value, most)


class Loss:
    def forward(self, scores):
        total = 0.0
        for score in scores:
            total += score * score
        return total / len(scores)
'''
FANCY = '''
from toy.losses import weigh


class Fancy:
    def forward(self, value):
        """See the configuration."""
        return weigh([value], 2.0)
'''
CONFIG = '''
class FancyConfig:
    """The method of https://huggingface.co/papers/2405.00001."""

    rank: int = 8
'''
NEW_LOSS = '''
def blend(left, right, share):
    """Changed, and not new."""
    return share * left + (1 - share) * right


def weigh(values, power, *, floor=0.0):
    """Equation 3 of Toy Weights (arXiv:2405.00002)."""
    weights = [max(abs(value), floor) ** power for value in values]
    total = sum(weights)
    return [weight / total for weight in weights]


def plain(values):
    return [value for value in values if value]


class Loss:
    def forward(self, scores):
        total = 0.0
        for score in scores:
            total += score * score
        return total / len(scores)

    def gated(self, scores, gate):
        """The gate of toy networks."""
        chosen = [score for score, is_open in zip(scores, gate) if is_open]
        return self.forward(chosen)
'''
# Moved, renamed, and with another docstring and other annotations.
MOVED = '''
def bounded(value: float, least: float, most: float) -> float:
    """Keep a value between two others."""
    # A comment.
    if value < least:
        return least
    return min(value, most)
'''
KERNELS = """
import triton


@triton.jit
def kernel(left, right):
    return left + right


def launched(left, right):
    return kernel[(1,)](left, right)


def far(left, right):
    # No import is run, so this one can be missing.
    return launched(left, right)
"""
METADATA = (
    "Name: toy\nLicense: MIT\n\n# Toy\n\n- Loss.gated: the [Gated](https://aclanthology.org/2025.acl-long.7) loss\n"
)
VERSIONS = {
    "1.0": {"toy/losses.py": OLD_LOSS},
    "1.1": {"toy/losses.py": NEW_LOSS, "toy/bounds.py": MOVED},
    "2.0rc1": {"toy/losses.py": NEW_LOSS},
    "2.0": {
        "toy/losses.py": NEW_LOSS,
        "toy/bounds.py": MOVED,
        "toy/fancy/__init__.py": "from .layer import Fancy\n",
        "toy/fancy/layer.py": FANCY,
        "toy/fancy/config.py": CONFIG,
        "toy/kernels.py": KERNELS,
        "toy/broken.py": "def broken(:\n",
        "toy/tests/test_fancy.py": "def test_fancy():\n    pass\n",
        "toy-2.0.dist-info/METADATA": METADATA,
    },
}
SCRIPT = """
from toy.losses import plain, weigh

weigh([1.0, 2.0, 3.0], 2.0)
plain([0, 1])
"""

OBJECTS = """
from toy.losses import Loss

loss = Loss()
loss.act = print
loss.gated([1.0, 2.0], [True, False])
"""


class Index(Files):
    """The files of a folder, and an index of them that states when they were uploaded."""

    def do_GET(self):  # noqa: N802
        if self.path.rstrip("/") != "/simple/toy":
            super().do_GET()
            return
        files = [
            {"filename": name, "url": f"/{name}", "hashes": {}, "upload-time": f"2026-0{month}-11T00:00:00.000000Z"}
            for month, name in enumerate(map(wheel_of, VERSIONS), start=1)
        ]
        answer = json.dumps({"meta": {"api-version": "1.1"}, "name": "toy", "files": files}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/vnd.pypi.simple.v1+json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


def wheel_of(version):
    return f"toy-{version}-py3-none-any.whl"


@pytest.fixture(autouse=True)
def index(tmp_path, monkeypatch):
    """An index with four versions of a package, and a cache that is empty."""
    folder = tmp_path / "site"
    folder.mkdir()
    for version, files in VERSIONS.items():
        with zipfile.ZipFile(folder / wheel_of(version), "w") as archive:
            for path, text in {f"toy-{version}.dist-info/WHEEL": "", **files}.items():
                archive.writestr(path, text)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with serving_files(folder, Index) as address:
        monkeypatch.setenv("PIP_INDEX_URL", f"{address}/simple")
        yield


def new(*arguments):
    return lmrbench("task", "new", *arguments)


def listed(*arguments):
    result = new(*arguments, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_what_was_moved_renamed_or_changed_is_not_new():
    found = listed("--source", "toy", "--since", "1.0")

    assert (found["package"], found["since"], found["date"]) == ("toy==2.0", "1.0", "2026-04-11")
    assert {item["target"]: item["kind"] for item in found["new"]} == {
        "toy/losses.py::weigh": "function",
        "toy/losses.py::plain": "function",
        "toy/losses.py::Loss.gated": "method",
        "toy/fancy/layer.py::Fancy": "class",
        "toy/fancy/layer.py::Fancy.forward": "method",
        "toy/fancy/config.py::FancyConfig": "class",
        "toy/kernels.py::kernel": "function",
        "toy/kernels.py::launched": "function",
        "toy/kernels.py::far": "function",
    }


def test_what_an_author_asks_of_each():
    found = {item["target"].partition("::")[2]: item for item in listed("--source", "toy", "--since", "1.0")["new"]}

    weigh = found["weigh"]
    assert (weigh["lines"], weigh["parameters"]) == (5, ["values", "power", "floor"])
    assert weigh["callers"] == ["toy/fancy/layer.py::Fancy.forward"]
    assert (weigh["papers"], weigh["named_in"]) == (["https://arxiv.org/abs/2405.00002"], "docstring")
    assert (found["Fancy.forward"]["papers"], found["Fancy.forward"]["named_in"]) == (
        ["https://arxiv.org/abs/2405.00001"],
        "folder",
    )
    assert found["Loss.gated"]["papers"] == ["https://aclanthology.org/2025.acl-long.7"]
    assert found["plain"]["papers"] == []
    assert [found[name]["gpu"] for name in ("kernel", "launched", "far", "plain")] == ["needs", "may", "may", "no"]
    assert [name for name in found if found[name]["papers"]] == list(found)[:5]


def test_the_first_version_of_each_and_its_date():
    found = {item["target"].partition("::")[2]: item for item in listed("--source", "toy", "--since", "1.0")["new"]}

    assert (found["weigh"]["version"], found["weigh"]["date"]) == ("1.1", "2026-02-11")
    assert (found["Fancy"]["version"], found["Fancy"]["date"]) == ("2.0", "2026-04-11")


def test_a_named_version_is_compared_and_the_table_shows_the_paper():
    result = new("--source", "toy==1.1", "--since", "1.0")

    assert result.returncode == 0, result.stderr
    assert "New in toy==1.1 (2026-02-11) since 1.0" in result.stdout
    assert "https://arxiv.org/abs/2405.00002" in result.stdout
    assert "Fancy" not in result.stdout


def test_a_new_definition_is_printed_with_its_first_version():
    result = new("--source", "toy", "--since", "1.0", "toy/losses.py::Loss.gated")

    assert result.returncode == 0, result.stderr
    first, *lines = result.stdout.splitlines()
    assert first == "# toy==2.0: toy/losses.py::Loss.gated, first in 1.1 (2026-02-11)"
    assert lines[0] == "    def gated(self, scores, gate):"
    assert lines[-1] == "        return self.forward(chosen)"


@pytest.mark.sandbox
def test_a_method_of_an_object_that_is_no_data_is_drafted_with_a_skeleton_of_a_check(tmp_path):
    script = tmp_path / "calls.py"
    script.write_text(OBJECTS)
    arguments = ("--to", tmp_path / "suite", "--slug", "toy_gate", "--with", script, "--command", "python calls.py")

    result = new("--source", "toy", "--since", "1.0", "toy/losses.py::Loss.gated", *arguments)

    assert result.returncode == 0, result.stderr
    folder = tmp_path / "suite" / "toy_gate"
    check = (folder / "checks" / "gated.py").read_text()
    assert "from toy.losses import Loss" in check
    assert "the check has no cases, because the attribute act of Loss is not plain data" in result.stdout
    assert f"{folder / 'checks' / 'gated.py'}: replace each TODO" in result.stdout
    assert sorted(tomllib.loads((folder / "task.toml").read_text())) == ["paper", "source", "task"]


@pytest.mark.sandbox
def test_a_chosen_one_is_drafted_from_the_newest_version_with_recorded_inputs(tmp_path):
    script = tmp_path / "calls.py"
    script.write_text(SCRIPT)
    arguments = ("--to", tmp_path / "suite", "--slug", "toy_weights", "--with", script, "--command", "python calls.py")

    result = new("--source", "toy", "--since", "1.0", "toy/losses.py::weigh", *arguments)

    assert result.returncode == 0, result.stderr
    assert "calls of the target recorded during python calls.py: 1" in result.stdout
    table = tomllib.loads((tmp_path / "suite" / "toy_weights" / "task.toml").read_text())
    assert table["source"]["package"] == "toy==2.0"
    assert table["paper"]["released"] == {"package": "toy", "version": "1.1", "date": "2026-02-11"}
    old = new("--source", "toy", "--since", "1.0", "toy/losses.py::blend", *arguments)
    assert old.returncode == 2
    assert "toy/losses.py::blend is not new: toy==1.0 has it, too" in old.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--source", "toy", "--since", "1.3"), "toy==1.3: no index"),
        (("--source", "toy", "--since", "1.3"), "available versions: 1.0, 1.1, 2.0rc1, 2.0"),
        (("--source", "toy==3.0", "--since", "1.0"), "toy==3.0: no index"),
        (("--source", "toy", "--since", "2.0"), "--since 2.0 is not earlier than toy==2.0"),
        (("--source", "toy", "--since", "new"), "--since new: Invalid version"),
        (("--source", "other", "--since", "1.0"), "other: no index"),
        (("--source", "https://example.org/a.tar.gz", "--since", "1.0"), "expected NAME or NAME==VERSION"),
        (("--since", "1.0"), "--since needs a package; name it with --source NAME"),
        (("--source", "toy==2.0", "toy/losses.py::weigh"), "--to DIR --slug SLUG"),
        (("--source", "toy", "--since", "1.0", "toy/losses.py::weigh", "--slug", "a"), "--to DIR --slug SLUG"),
        (("--source", "toy", "--since", "1.0", "toy/losses.py::no"), "toy==2.0 has no such definition"),
        (("--source", "toy==2.0", "toy/losses.py::weigh", "--json"), "--json needs --source and --since"),
    ],
)
def test_what_can_not_be_compared_is_one_line(arguments, words):
    result = new(*arguments)

    assert (result.returncode, result.stdout) == (2, "")
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "papers"),
    [
        ("See https://arxiv.org/pdf/2405.00001v2.", ["https://arxiv.org/abs/2405.00001"]),
        ("eprint = {arXiv:2405.00001}, arxiv 2405.00001", ["https://arxiv.org/abs/2405.00001"]),
        ("`Hu et al. <https://huggingface.co/papers/2405.00001>`_", ["https://arxiv.org/abs/2405.00001"]),
        ("Paper: https://doi.org/10.1609/aaai.v40i31.39813.", ["https://doi.org/10.1609/aaai.v40i31.39813"]),
        ("https://aclanthology.org/P18-1042", ["https://aclanthology.org/P18-1042"]),
        ("[paper](https://openreview.net/forum?id=a-B_1)", ["https://openreview.net/forum?id=a-B_1"]),
        ("([paper](https://example.org/a.pdf))", ["https://example.org/a.pdf"]),
        ("the paper (https://github.com/a/b) and version 2405.00001", []),
    ],
)
def test_papers_are_known_by_their_address(text, papers):
    assert list(papers_in(text)) == papers
