"""What an imported check adds to a repository inside the sandbox. Imports nothing of lmrbench."""
