"""Modules that an audit copies into a repository in the sandbox, so they must not import lmrbench."""
