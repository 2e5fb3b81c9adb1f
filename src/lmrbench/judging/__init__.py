"""Judgements of answers by language models and by people, and their agreement."""
