"""The audit of a task: measures what its check rejects and what it accepts."""
