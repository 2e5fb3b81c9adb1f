"""Repositories that are published packages: pin, fetch and unpack them."""
