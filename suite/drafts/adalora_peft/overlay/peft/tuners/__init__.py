"""Adapters, a folder for each method."""
