"""Surgery on Python source: find functions by name, mask their bodies, transplant them, and keep every other byte."""
