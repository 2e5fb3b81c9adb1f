"""Which other files of a repository are likely to help with a task? Those that share its words, as BM25 ranks them."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from rank_bm25 import BM25Okapi

from lmrbench.tasks.model import Task
from lmrbench.tasks.workspace import masked_files

_TEXTS = frozenset({".py", ".pyi", ".md", ".rst", ".txt", ".toml", ".yaml", ".yml", ".cfg", ".ini", ".sh"})
# Words of prose and of code: `get_scores` and `GetScores` are both "get" and "scores".
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def retrieved(task: Task, count: int) -> tuple[str, ...]:
    """The paths of the files that match instruction and summary best, the best first, at most `count` of them.

    Goal files and those that the task shows anyway do not count. A file that shares no word is not among them.
    """
    files = masked_files(task)
    shown = {*task.goal_files, *task.context}
    paths = [path for path in files if path not in shown and PurePosixPath(path).suffix in _TEXTS]
    texts = [_words(f"{path}\n{files[path].decode('utf-8', 'replace')}") for path in paths]
    if not count or not any(texts):
        return ()
    scores = BM25Okapi(texts).get_scores(_words(f"{task.instruction}\n{task.files.summary}"))
    ranked = sorted(zip(-scores, paths, strict=True))
    return tuple(path for score, path in ranked[:count] if score < 0)


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
