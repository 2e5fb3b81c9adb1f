"""A stand-in; see `porter`."""
