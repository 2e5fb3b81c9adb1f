"""Adapters, one folder per method."""
