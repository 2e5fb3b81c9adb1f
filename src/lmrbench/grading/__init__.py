"""Grading: observe reference and candidate in separate sandboxes, compare outside of them, and record verdicts."""
