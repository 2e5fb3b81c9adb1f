"""The part of peft that this task needs; each module is imported by its name."""
