"""The part of trl that IW-OPD needs. The package's own `__init__` imports every trainer."""
