"""Tools for task authors: new tasks, audits, and the suite's overview."""
