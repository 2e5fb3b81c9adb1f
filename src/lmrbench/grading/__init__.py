"""Unit tests: observe golden and candidate in separate sandboxes, compare outside, and record verdicts."""
