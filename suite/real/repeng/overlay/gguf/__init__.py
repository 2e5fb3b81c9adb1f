"""A stub: vectors are not written to files here."""
