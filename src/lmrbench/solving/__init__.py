"""Have models and agents solve tasks, with Inspect AI."""
