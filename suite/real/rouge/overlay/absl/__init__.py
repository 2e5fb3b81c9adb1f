"""A stand-in: of absl-py, the scorer needs a log alone."""
