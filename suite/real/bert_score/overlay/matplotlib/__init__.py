"""A stub: nothing is drawn."""
