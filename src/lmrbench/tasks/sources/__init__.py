"""Repositories that are published code, such as packages: pin, fetch and unpack them."""
