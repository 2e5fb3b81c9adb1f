"""Probes that tell the source of knowledge from activations."""
