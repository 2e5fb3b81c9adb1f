"""Draft new tasks: choose files of a repository, record calls of the function to mask, and propose a runnable check."""
