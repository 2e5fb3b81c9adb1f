"""A stub: the published package has its encoder here."""
