"""Trainers. Modules are imported by their names."""
