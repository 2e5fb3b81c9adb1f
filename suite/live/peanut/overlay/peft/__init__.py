"""The part of peft that this task needs, each module by its own name."""
