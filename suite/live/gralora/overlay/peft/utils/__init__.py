"""Helpers that layers share."""
