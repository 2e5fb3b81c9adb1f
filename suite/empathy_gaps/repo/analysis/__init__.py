"""Intergroup empathy gaps: prompts, answers and metrics."""
