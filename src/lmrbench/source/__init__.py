"""Edit Python source: find functions by name, mask their bodies and transplant them without changing any other byte."""
