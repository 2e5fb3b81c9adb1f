"""A short list of words in the place of a corpus that would have to be loaded."""

from types import SimpleNamespace

_ENGLISH = [
    "a",
    "an",
    "and",
    "are",
    "as",
    "at",
    "be",
    "by",
    "for",
    "he",
    "in",
    "is",
    "it",
    "of",
    "on",
    "she",
    "the",
    "to",
    "was",
    "with",
]


def _words(language):
    return list(_ENGLISH) if language == "english" else []


stopwords = SimpleNamespace(words=_words)
