"""Surgery on Python source: find functions by name, mask their bodies, transplant them, and lose no other byte."""
