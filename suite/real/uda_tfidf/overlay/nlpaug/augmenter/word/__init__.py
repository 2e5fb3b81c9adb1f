"""Here with the augmenter by TF-IDF alone, which needs the other class at import."""

from nlpaug.augmenter.word.word_augmenter import WordAugmenter  # isort: skip
from nlpaug.augmenter.word.tfidf import TfIdfAug

__all__ = ["TfIdfAug", "WordAugmenter"]
