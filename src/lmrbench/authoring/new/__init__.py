"""Drafts of new tasks: record calls in a repository, choose its files, and propose a check that runs."""
