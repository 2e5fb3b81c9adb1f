"""A stub: of the published package, only what the loss needs."""
