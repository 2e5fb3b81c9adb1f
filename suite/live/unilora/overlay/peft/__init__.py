"""The part of peft that this task needs. Import each module by its own name."""
