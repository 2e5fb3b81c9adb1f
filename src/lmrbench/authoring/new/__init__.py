"""Draft new tasks: choose files of a repository, record calls of the target, and propose a check that runs."""
