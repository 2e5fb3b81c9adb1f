"""Decoding by contrasting layers, with a small language model that lets its layers exit early."""
