"""Models. Modules are imported by their names."""
