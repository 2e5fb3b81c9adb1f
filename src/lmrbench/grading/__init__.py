"""Grading: observe reference and candidate in separate sandboxes, compare the observations, and record verdicts."""
