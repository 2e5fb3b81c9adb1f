"""Repositories of many files: a sandbox sees the files that are on this machine, and is sent the others."""

import pytest
from tests.drawn import job_of

from lmrbench.sandbox.inside.encoding import decode
from lmrbench.sandbox.registry import make_sandbox, open_pool
from lmrbench.sandbox.trees import sent, tree_of
from lmrbench.tasks.sources.origin import Kept

CHECK = """
import os
from pathlib import Path

def below(root):
    walked = os.walk(root, followlinks=True)
    paths = [os.path.relpath(Path(folder, name)) for folder, _, names in walked for name in names]
    return [path for path in paths if path.endswith(".py")]

def cases(seed):
    yield {"name": "value"}
    yield {"name": "files"}
    yield {"name": "secrets"}
    yield {"name": "writes"}

def observe(case):
    from package.inner.goal import value

    if case["name"] == "value":
        return {"value": value()}
    if case["name"] == "files":
        return {"files": sorted(below("."))}
    if case["name"] == "secrets":
        texts = [Path(path).read_text() for path in [*below("/trees"), *below(".")]]
        return {"answers": sum("the answer" in text for text in texts)}
    try:
        Path("package/other.py").write_text("changed")
    except OSError as error:
        return {"refused": type(error).__name__}
"""
FILES = {
    "package/__init__.py": "",
    "package/other.py": "from package.inner.deep import more\n\ndef twice(x):\n    return 2 * x + more.OFFSET\n",
    "package/inner/__init__.py": "",
    "package/inner/goal.py": "def value():\n    return 'the answer'\n",
    "package/inner/deep/__init__.py": "",
    "package/inner/deep/more.py": "OFFSET = 1\n",
    "tests/test_value.py": "'the answer'\n",
}
ANSWER = b"from ..other import twice\n\ndef value():\n    return twice(3)\n"


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def fetched(tmp_path):
    """The files of a package, of which the tests are left out, as they are read from the cache."""
    files = {}
    for path, text in FILES.items():
        place = tmp_path / "fetched" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(0o444)
        if not path.startswith("tests/"):
            files[path] = Kept.read(place)
    return files


def job(files, owner="someone"):
    return job_of(files, CHECK, owner=owner)


def observed(outcome):
    assert outcome.broken is None, outcome.broken
    names = ("value", "files", "secrets", "writes")
    return {name: decode(case.payload) for name, case in zip(names, outcome.cases, strict=True)}


@pytest.mark.sandbox
@pytest.mark.parametrize("name", ["bubblewrap", "process"])
def test_an_answer_works_among_files_that_were_not_sent(name, fetched):
    answered = {**fetched, "package/inner/goal.py": ANSWER}
    assert sent(answered) == {"package/inner/goal.py": ANSWER}

    with open_pool(name, [], 1) as pool:
        ((_, outcome),) = pool.run([job(answered)])

    found = observed(outcome)
    assert found["value"] == {"value": 7}
    assert found["files"]["files"] == sorted(path for path in FILES if not path.startswith("tests/"))


@pytest.mark.sandbox
def test_neither_the_original_of_what_was_sent_nor_what_was_left_out_is_in_the_sandbox(fetched):
    answered = {**fetched, "package/inner/goal.py": ANSWER}
    with open_pool("bubblewrap", [], 1) as pool:
        # The golden's own run shows the original; a run of somebody else, later, does not.
        outcomes = dict(pool.run([job(fetched, "golden"), job(answered)]))

    assert observed(outcomes[0])["value"] == {"value": "the answer"}
    assert observed(outcomes[1])["secrets"] == {"answers": 0}
    assert observed(outcomes[1])["writes"] == {"refused": "OSError"}


def test_a_folder_is_made_once_for_all_answers_to_a_task(fetched):
    first = tree_of({**fetched, "package/inner/goal.py": ANSWER}, CHECK)
    again = tree_of({**fetched, "package/inner/goal.py": b"another"}, CHECK)

    assert first is not None
    assert first == again != tree_of(fetched, CHECK)
    assert not (first / "package/inner/goal.py").exists()
    assert (first / "package/other.py").samefile(fetched["package/other.py"].place)
    assert tree_of({"answer.py": ANSWER}, CHECK) is None


HOSTILE = {
    "a number that Python does not print": f"class Helper:\n    if 0x{'f' * 5000}:\n        x = 1\n",
    "a sum of 900 terms": f"if {'+'.join(['a'] * 900)}:\n    x = 1\n",
    "800 attributes": f"if {'.'.join(['a'] * 800)}:\n    x = 1\n",
    "brackets": "(" * 100_000,
    "a null byte": "x = '\0'\n",
    "imports of everything": "import package.inner.deep.more\n",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_an_answer_holds_changes_nothing_about_the_folder(tmp_path, monkeypatch, fetched, kind):
    files = {**fetched, "package/inner/goal.py": HOSTILE[kind].encode() + ANSWER}

    def compiled(candidate):
        folder = tree_of(candidate, CHECK)
        return sorted(path.name for path in folder.rglob("*.pyc"))

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "one"))
    by_hostile = compiled(files)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    assert by_hostile == compiled({**fetched, "package/inner/goal.py": b"x = 1\n"})


@pytest.mark.sandbox
def test_who_shows_no_folders_is_sent_everything(fetched):
    worker = make_sandbox("process", ()).start(("numpy",))
    try:
        outcome = worker.run(job({**fetched, "package/inner/goal.py": ANSWER}))
    finally:
        worker.close()

    assert observed(outcome)["value"] == {"value": 7}
