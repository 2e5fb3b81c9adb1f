"""The part of sentence-transformers that this repository needs."""
