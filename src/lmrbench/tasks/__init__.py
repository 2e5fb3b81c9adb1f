"""Tasks: their records, loading a suite, the workspace that a solver sees, and collecting submissions."""
