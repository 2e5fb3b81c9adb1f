"""Models, a folder for each."""
