"""Generative obfuscation of private features, and an attack on it."""
