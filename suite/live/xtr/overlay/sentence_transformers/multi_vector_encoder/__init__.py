"""Encoders that represent a text by one vector for each token."""
