"""The run folder and everything stored in it."""
