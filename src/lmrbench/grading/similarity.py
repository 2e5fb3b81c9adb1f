"""Similarity of texts, by their characters or by the embeddings of a local model.

The packages that measure similarity are imported only when two texts are compared; `lmrbench.sandbox.packages` checks
that they are installed.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

from lmrbench.errors import SandboxError
from lmrbench.tasks.bounds import Similarity

# Longer texts are cut before tokenizing. Models truncate their input to less than this anyway, but only after the whole
# text has been tokenized.
_MOST_CHARACTERS = 100_000


def similar(golden: str, observed: str, wanted: Similarity) -> bool:
    """Return whether two texts are at least as similar as required.

    Args:
        golden: The reference's text.
        observed: The candidate's text.
        wanted: The smallest accepted similarity, and the model if embeddings are compared.

    Raises:
        SandboxError: The model can't be loaded.
    """
    if golden == observed:
        return True
    if wanted.model:
        one, other = (_embedding(wanted.model, text[:_MOST_CHARACTERS]) for text in (golden, observed))
        return float(one @ other) >= wanted.threshold
    if wanted.threshold <= 0:
        return True
    # The similarity is 2 * LCS / (len(golden) + len(observed)), and the longest common subsequence (LCS) is at most as
    # long as the shorter text. This bound avoids minutes of work on long texts.
    if 2 * min(len(golden), len(observed)) < wanted.threshold * (len(golden) + len(observed)):
        return False
    from rapidfuzz.distance import Indel

    return bool(Indel.normalized_similarity(golden, observed) >= wanted.threshold)


@lru_cache(maxsize=256)
def _embedding(model: str, text: str) -> Any:
    # Tokenizers reject lone surrogates, which a candidate's text may contain.
    return _loaded(model).encode(text.encode("utf-8", "replace").decode(), normalize_embeddings=True)


@cache
def _loaded(model: str) -> Any:
    from sentence_transformers import SentenceTransformer

    try:
        # Only the CPU and local files are used, so that grades vary neither with hardware nor with versions of a model.
        return SentenceTransformer(model, device="cpu", local_files_only=True)
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise SandboxError(f"{model}: the model for the similarity of texts can't be loaded: {reason}") from error
