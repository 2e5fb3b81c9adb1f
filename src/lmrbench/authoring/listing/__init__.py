"""Find what is new in a version of a package. Files are only parsed; nothing is imported or run."""
