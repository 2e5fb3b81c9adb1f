"""Tiny vision transformers, with and without massive activations, and the tools to look into them."""
