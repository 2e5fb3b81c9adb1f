"""Tools for task authors: drafts of new tasks, audits, adversaries, and the overview of a suite."""
