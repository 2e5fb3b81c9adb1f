"""Modules that an audit adds to a repository in the sandbox, as files; they import nothing of lmrbench."""
