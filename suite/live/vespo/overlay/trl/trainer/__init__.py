"""The trainer and its configuration."""
