"""The part of trl that this task needs. Modules are imported by their names."""
