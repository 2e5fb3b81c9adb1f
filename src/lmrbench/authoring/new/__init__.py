"""A new task: from recorded calls and a folder to a check that runs."""
