"""Encoders of hierarchies in hyperbolic space."""
