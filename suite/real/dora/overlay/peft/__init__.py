"""The part of peft that this task needs. Its own `__init__` would import every method."""
