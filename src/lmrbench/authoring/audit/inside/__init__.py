"""Modules that an audit copies into a repository in the sandbox. They import nothing from lmrbench."""
