"""Models and agents that solve tasks, on Inspect AI."""
