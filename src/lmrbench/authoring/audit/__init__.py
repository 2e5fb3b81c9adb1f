"""The audit of a task: what its check rejects, and what it lets pass."""
