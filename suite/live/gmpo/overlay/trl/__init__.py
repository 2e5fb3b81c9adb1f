"""The part of trl that GMPO needs. The package's own `__init__` imports every trainer."""
