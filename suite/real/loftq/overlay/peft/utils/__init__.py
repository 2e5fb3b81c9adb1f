"""Helpers of the package; the one of this task is `loftq_utils`."""
