"""A stand-in: everything runs in one process here."""
