"""Models and agents that solve tasks, run by Inspect AI."""
