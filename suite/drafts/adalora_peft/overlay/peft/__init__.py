"""The part of peft that this task needs. Each module is imported by its own name; the package's `__init__` would import every method."""
