"""Data, model and trainer."""
