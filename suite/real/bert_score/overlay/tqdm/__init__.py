"""A stub: no progress is shown."""
