"""The source tree, imported from the repository root."""
