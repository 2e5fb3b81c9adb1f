"""The audit of a task, which measures how well the task's check distinguishes correct code from wrong code."""
