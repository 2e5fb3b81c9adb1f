"""Probing a language model for the source of its knowledge."""
