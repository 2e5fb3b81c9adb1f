"""Adapters, each in a folder of its own."""
