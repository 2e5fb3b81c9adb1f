"""What an audit adds to a repository inside the sandbox. Imports nothing of lmrbench: it travels as plain files."""
