"""A stub: the published package has further measures and a command line."""
