"""The part of peft that this task needs. The package's own `__init__` imports every method; here each module is imported by its name."""
