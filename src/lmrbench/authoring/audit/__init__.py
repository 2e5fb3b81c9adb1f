"""The audit of a task, which measures how well its check separates correct from wrong code."""
