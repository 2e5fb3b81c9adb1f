"""A stand-in: the toy trainer brings what it needs of it."""
