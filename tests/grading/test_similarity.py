"""Texts agree if a task says how similar they must be, and they are."""

import shutil
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from tests.graded import graded

from lmrbench.errors import SandboxError, TaskError
from lmrbench.grading import similarity
from lmrbench.grading.compare import compare, margin
from lmrbench.sandbox import packages
from lmrbench.tasks.bounds import Bounds, Similarity, Tolerance
from lmrbench.tasks.loading import load_suite
from lmrbench.tasks.submission import Submission

TEN = "abcdefghij"
# A task whose target writes a sentence.
BLEND = '''"""Blends words into a sentence."""


class Blender:
    """Blends with a scale."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def blend(self, values: list[float]) -> str:
        """Return a sentence about the values."""
        return f"The blender got {len(values)} values and mixed them well."
'''
REWORDED = """
def blend(self, values):
    return f"The blender got {len(values)} values and mixed them very well."
"""


def bounds(threshold=0.9, model=""):
    return Bounds(Tolerance(), similarities={"summary": Similarity(threshold=threshold, model=model)})


@pytest.fixture
def text_suite(suite):
    """A toy suite whose one task compares texts by their similarity."""
    (suite / "toy" / "repo" / "blending.py").write_text(BLEND)
    for folder in ("rewrites", "wrong"):
        shutil.rmtree(suite / "toy" / folder)
    table = suite / "toy" / "task.toml"
    table.write_text(
        table.read_text().replace("tolerance =", "similarities = { blend = { threshold = 0.9 } }\ntolerance =")
    )
    return suite


class TestByCharacters:
    @pytest.fixture(autouse=True)
    def rapidfuzz(self):
        pytest.importorskip("rapidfuzz", reason="NOT TESTED: rapidfuzz is not installed")

    @pytest.mark.parametrize(
        ("golden", "observed"),
        [
            (TEN, TEN),
            (TEN, "abcdefghiX"),
            ([TEN, {"text": TEN}], ["abcdefghiX", {"text": "Xbcdefghij"}]),
            ([1.0, TEN], [1.0, "abcdefghiX"]),
        ],
    )
    def test_similar_texts_agree(self, golden, observed):
        assert compare({"summary": golden}, {"summary": observed}, bounds()) is None

    @pytest.mark.parametrize(
        ("golden", "observed", "reason"),
        [
            (TEN, "abcdefghXX", f"summary: expected a text with a similarity of 0.9 to '{TEN}', got 'abcdefghXX'"),
            ([TEN], [""], f"summary[0]: expected a text with a similarity of 0.9 to '{TEN}', got ''"),
            (TEN, b"abcdefghij", f"summary: expected str '{TEN}', got bytes b'{TEN}'"),
            (1.0, 1.1, "summary: expected 1.0, got 1.1"),
        ],
    )
    def test_others_differ(self, golden, observed, reason):
        assert compare({"summary": golden}, {"summary": observed}, bounds()) == reason

    def test_other_keys_must_be_equal(self):
        one, other = {"summary": TEN, "name": TEN}, {"summary": TEN, "name": "abcdefghiX"}
        assert compare(one, other, bounds()) == f"name: expected '{TEN}', got 'abcdefghiX'"

    @pytest.mark.parametrize(
        ("threshold", "observed", "factor"),
        [
            (0.9, TEN, 0),
            (0.9, "abcdefghiX", 1),
            (0.9, "abcdefghXX", 2),
            (0.9, "", 10),
            (0.3, "abcXXXXXXX", 1),
            (1.0, "abcdefghiX", None),
            (0.9, None, None),
        ],
    )
    def test_a_margin_is_the_share_of_the_allowed_distance(self, threshold, observed, factor):
        found = margin({"summary": TEN}, {"summary": observed}, bounds(threshold))
        assert found == (factor if factor is None else pytest.approx(factor, rel=0.02, abs=1e-5))
        agrees = compare({"summary": TEN}, {"summary": observed}, bounds(threshold)) is None
        assert agrees == (found is not None and found <= 1)

    def test_a_long_text_is_told_apart_without_being_aligned(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "rapidfuzz.distance", None)
        assert compare({"summary": TEN}, {"summary": TEN * 100_000}, bounds(0.1)) is not None

    @pytest.mark.sandbox
    def test_an_answer_in_other_words_passes_if_the_task_allows_it(self, text_suite, pool):
        tasks = {task.id: task for task in load_suite(text_suite)}
        codes = (REWORDED, REWORDED.replace("mixed them very well", "lost some of them"))
        submissions = [Submission(system="me", task="toy/blend", sample=n, code=code) for n, code in enumerate(codes)]
        found = {item.sample: item for item in graded(submissions, tasks, (0,), pool)}
        assert (found[0].correct, found[1].correct) == (True, False)
        assert found[1].first_failure.reason.startswith("blend: expected a text with a similarity of 0.9 to 'The bl")


LOADED: list[tuple] = []


class Embeddings:
    """Stands in for sentence-transformers: the embedding of a text counts its vowels."""

    def __init__(self, name, **options):
        if name == "absent":
            raise OSError("Path absent not found\nand more")
        LOADED.append((name, options))

    def encode(self, text, normalize_embeddings):
        text.encode()
        counts = np.array([text.count(vowel) for vowel in "aeiou"], dtype=float)
        return counts / np.linalg.norm(counts) if normalize_embeddings else counts


class TestByEmbeddings:
    @pytest.fixture(autouse=True)
    def sentence_transformers(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=Embeddings))
        LOADED.clear()
        for kept in (similarity._embedding, similarity._loaded):
            kept.cache_clear()

    def test_texts_of_near_embeddings_agree(self):
        near = bounds(0.9, "vowels")
        assert compare({"summary": "banana"}, {"summary": "a papaya"}, near) is None
        assert compare({"summary": "banana"}, {"summary": "kiwi a\ud800"}, near) is not None
        assert margin({"summary": "banana"}, {"summary": "kiwi"}, near) == pytest.approx(10, rel=0.02)
        assert LOADED == [("vowels", {"device": "cpu", "local_files_only": True})]

    def test_a_model_that_is_not_there_is_one_line(self):
        with pytest.raises(SandboxError) as error:
            compare({"summary": "a"}, {"summary": "e"}, bounds(0.9, "absent"))
        assert (
            str(error.value) == "absent: the model for the similarity of texts can't be loaded: Path absent not found"
        )


@pytest.mark.parametrize(
    ("entry", "package"),
    [
        ("threshold = 0.9", "rapidfuzz, which is not installed; pip install 'lmrbench[texts]'"),
        (
            'threshold = 0.9, model = "vowels"',
            "sentence_transformers, which is not installed; pip install 'lmrbench[embeddings]'",
        ),
    ],
)
def test_a_missing_package_is_named(text_suite, monkeypatch, entry, package):
    table = text_suite / "toy" / "task.toml"
    table.write_text(table.read_text().replace("threshold = 0.9", entry))
    (task,) = load_suite(text_suite)
    monkeypatch.setattr(packages, "_providers", lambda environment: {})
    with pytest.raises(SandboxError) as error:
        packages.require_installed(task)
    assert str(error.value) == f"toy/blend compares texts with {package}"


@pytest.mark.parametrize("threshold", ["0", "1.1"])
def test_a_threshold_out_of_range_is_refused_by_its_key(text_suite, threshold):
    table = text_suite / "toy" / "task.toml"
    table.write_text(table.read_text().replace("threshold = 0.9", f"threshold = {threshold}"))
    with pytest.raises(TaskError, match=r"task\[0\]\.similarities\.blend\.threshold"):
        load_suite(text_suite)
