"""The audit of a task: measure whether its check accepts correct code and rejects wrong code."""
